// Takes the place of tap's package `async-hook-domain` in the workers. The package finds the test of an
// uncaught error by following every promise with async hooks, which costs 15 to 20 % of the CPU of the tests.
// A worker runs one test at a time, so it gives such an error to the test that is running.
type ErrorListener = (error: unknown, event: string) => void

/** The part of the package's class that tap uses. */
export class Domain {
  readonly onerror: ErrorListener

  constructor(onerror: ErrorListener) {
    this.onerror = onerror
  }

  destroy(): void {}
}
