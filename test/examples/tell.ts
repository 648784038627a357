// Runs the examples that it is given, one after another: most of the time of a process of its own would go into its start.
for (const name of process.argv.slice(2)) {
  console.log(`# ${name}`);
  await import(`../../examples/${name}/main.ts`);
}
