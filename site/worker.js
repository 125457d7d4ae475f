// Asks the simulator, apart from the page, so that the page stays alive meanwhile.
let simulator;

function ask(question) {
  const asked = new TextEncoder().encode(JSON.stringify(question));
  const { memory, punctual_make_room, punctual_answer, punctual_where } = simulator.exports;
  // The buffer is another after each call that needs more memory.
  const room = punctual_make_room(asked.length);
  new Uint8Array(memory.buffer, room, asked.length).set(asked);
  const length = punctual_answer();
  const answer = new Uint8Array(memory.buffer, punctual_where(), length);
  return JSON.parse(new TextDecoder().decode(answer));
}

onmessage = async ({ data: { module, question, id } }) => {
  try {
    simulator ??= await WebAssembly.instantiate(module, {});
    postMessage({ id, ...ask(question) });
  } catch (why) {
    simulator = undefined;
    postMessage({ id, error: `the simulator gave up: ${why.message}` });
  }
};
