// The compiled simulator: a request goes in as text, an answer comes out as text (crates/web).

/** What the simulator refuses. */
export class Refused extends Error {}

export class Engine {
  /** @param {WebAssembly.Module | BufferSource} source */
  static async load(source) {
    const made = await WebAssembly.instantiate(source, {});
    return new Engine((made.instance ?? made).exports);
  }

  constructor(exports) {
    this.exports = exports;
    this.encoder = new TextEncoder();
    this.decoder = new TextDecoder();
  }

  /** The answer to a request as JSON text; throws `Refused` with what is wrong. */
  text(request) {
    const bytes = this.encoder.encode(JSON.stringify(request));
    const { sojourn_input, sojourn_call, sojourn_output, memory } = this.exports;
    const start = sojourn_input(bytes.length);
    // The memory may have grown, and has another buffer then.
    new Uint8Array(memory.buffer, start, bytes.length).set(bytes);
    const length = sojourn_call();
    const answer = this.decoder.decode(new Uint8Array(memory.buffer, sojourn_output(), length));
    if (answer[0] !== "+") throw new Refused(answer.slice(1));
    return answer.slice(1);
  }

  /** The answer as an object. */
  ask(request) {
    return JSON.parse(this.text(request));
  }
}
