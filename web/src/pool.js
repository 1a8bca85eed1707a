// Workers of the page: some for what is looked at, and some for replications.

/** A worker with promises in place of messages. */
class Line {
  constructor(url) {
    this.worker = new Worker(url);
    this.waiting = new Map();
    this.next = 0;
    this.worker.onmessage = ({ data: { id, answer, error } }) => {
      const { resolve, reject } = this.waiting.get(id);
      this.waiting.delete(id);
      if (error === undefined) resolve(answer);
      else reject(new Error(error));
    };
    this.worker.onerror = (event) => {
      for (const { reject } of this.waiting.values()) reject(new Error(event.message || "a worker of this page failed"));
      this.waiting.clear();
    };
  }

  send(message) {
    return new Promise((resolve, reject) => {
      const id = this.next++;
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, ...message });
    });
  }

  ask(request) {
    return this.send({ request });
  }
}

/** Each line has an instance of the simulator; what one scheme or the watched queue asks goes to one line, in order. */
export class Pool {
  constructor(source, wasm) {
    // The simulator is in the worker's source: to send it as a message holds the page for a tenth of a second.
    this.url = URL.createObjectURL(new Blob([`const SIMULATOR = "${wasm}";\n`, source], { type: "text/javascript" }));
    this.lines = [];
    this.line(0);
    this.line(1);
  }

  /** Line number 0 or 1, of the schemes, or 2, of the queue, which most readers do not watch at first. */
  line(number) {
    if (!this.lines[number]) {
      const line = new Line(this.url);
      line.ready = line.send({ load: true });
      this.lines[number] = line;
    }
    return this.lines[number];
  }

  /** The answer of a line. */
  async ask(number, request) {
    const line = this.line(number);
    await line.ready;
    return line.ask(request);
  }
}
