// Timeouts of one length, one after the other. Prints as accurate/loop.c does.
const [length, waits] = process.argv.slice(2).map(Number);
const now = () => Number(process.hrtime.bigint());
const late = [];
const begin = now();
const wait = () => {
  const due = now() + length;
  setTimeout(() => {
    late.push(now() - due);
    if (late.length < waits) return wait();
    const { user, system } = process.cpuUsage();
    console.log((user + system) * 1000, now() - begin);
    console.log(late.join("\n"));
  }, length / 1e6);
};
wait();
