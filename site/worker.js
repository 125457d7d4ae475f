// Asks the simulator, apart from the page, so that the page stays alive meanwhile.
let simulator;
/** The question that is being answered, and the share of its answer that the page knows of. */
let asked;

const page = {
  punctual_progress(share) {
    if (share - asked.share < 0.01) return;
    asked.share = share;
    postMessage(asked);
  },
};

function ask(question) {
  const bytes = new TextEncoder().encode(JSON.stringify(question));
  const { memory, punctual_make_room, punctual_answer, punctual_where } = simulator.exports;
  // The buffer is another after each call that needs more memory.
  const room = punctual_make_room(bytes.length);
  new Uint8Array(memory.buffer, room, bytes.length).set(bytes);
  const length = punctual_answer();
  const answer = new Uint8Array(memory.buffer, punctual_where(), length);
  return JSON.parse(new TextDecoder().decode(answer));
}

onmessage = async ({ data: { module, question, id } }) => {
  try {
    simulator ??= await WebAssembly.instantiate(module, { page });
    asked = { id, share: 0 };
    postMessage({ id, ...ask(question) });
  } catch (why) {
    simulator = undefined;
    postMessage({ id, error: `the simulator gave up: ${why.message}` });
  }
};
