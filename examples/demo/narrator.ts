const start = performance.now();

/** A heading. */
export function scene(title: string): void {
  console.log(`\n${title}`);
}

/** One line of the story, with the seconds since the beginning. */
export function say(line: string): void {
  const seconds = ((performance.now() - start) / 1000).toFixed(2).padStart(6);
  console.log(`${seconds}  ${line}`);
}
