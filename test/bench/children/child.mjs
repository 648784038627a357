// In the place of a measured process: does what its input says.
const tell = (message) => process.send(message);

process.on("message", ({ type, input }) => {
  if (type === "begin") tell({ type: "report", report: "begun" });
  if (type !== "do") return;
  if (input.does === "tells of an error") tell({ type: "error", message: "Error: the queue is broken" });
  if (input.does === "exits") {
    console.error("out of memory");
    process.exit(7);
  }
  if (input.does === "is killed") process.kill(process.pid, "SIGKILL");
  if (input.does === "works") {
    tell({ type: "ready" });
    tell({ type: "progress", done: 3 });
  }
  if (input.does === "works slowly") {
    let done = 0;
    setInterval(() => tell(++done < 8 ? { type: "progress", done } : { type: "report", report: done }), 250);
  }
});
