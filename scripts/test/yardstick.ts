// How fast the machine is while the tests run: the CPU time of one fixed computation, again and again. A busy
// or slow machine takes more CPU seconds for the same tests, and about as many times more for this.

const text = JSON.stringify(
  Array.from({ length: 20_000 }, (_, i) => ({ id: i, name: `item ${i}`, tags: ['a', 'b'] })),
)
const warmUps = 5

export class Yardstick {
  #milliseconds: number[] = []
  #timer: NodeJS.Timeout

  constructor() {
    for (let i = 0; i < warmUps; i++) compute()
    this.#timer = setInterval(() => this.#measure(), 2_000).unref()
    this.#measure()
  }

  #measure(): void {
    const before = process.threadCpuUsage()
    compute()
    const { user, system } = process.threadCpuUsage(before)
    this.#milliseconds.push((user + system) / 1000)
  }

  /** @returns the mean, in milliseconds of CPU. */
  stop(): number {
    clearInterval(this.#timer)
    return this.#milliseconds.reduce((total, each) => total + each, 0) / this.#milliseconds.length
  }
}

function compute(): void {
  const items = JSON.parse(text) as { id: number }[]
  items.sort((a, b) => b.id - a.id)
  JSON.stringify(items)
}
