// Takes the place of tap's package `async-hook-domain` in the workers. Both give an error that nobody caught
// to the test that is running. The package follows every promise with async hooks, which costs 15 to 20 % of
// the CPU of the tests; here the error goes to the innermost test that has not ended, because a worker runs
// one file at a time.
type ErrorListener = (error: unknown, event: string) => void

const domains: Domain[] = []
for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, (error: unknown) => {
    const domain = domains.at(-1)
    if (domain === undefined) throw error
    domain.onerror(error, event)
  })

/** What tap uses of the package's class. */
export class Domain {
  readonly onerror: ErrorListener

  constructor(onerror: ErrorListener) {
    this.onerror = onerror
    domains.push(this)
  }

  destroy(): void {
    const index = domains.lastIndexOf(this)
    if (index >= 0) domains.splice(index, 1)
  }
}
