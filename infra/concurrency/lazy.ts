// A value that is made when it is first needed, such as a client whose modules are large.

export class Lazy<T> {
  readonly #make: () => Promise<T>
  #made: Promise<T> | undefined

  constructor(make: () => Promise<T>) {
    this.#make = make
  }

  /** Makes the value for the first call, and again only if that failed, such as for too many open files. */
  get(): Promise<T> {
    this.#made ??= this.#make().catch((error) => {
      this.#made = undefined
      throw error
    })
    return this.#made
  }

  /** The value, or undefined if no call has asked for it yet. */
  async peek(): Promise<T | undefined> {
    return await this.#made
  }
}
