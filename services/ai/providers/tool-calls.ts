// The calls of functions in a streamed answer. Their arguments arrive in pieces, by the index of the call.
import { InvalidAnswer } from './errors.ts'

export interface ToolCall {
  id: string
  name: string
  /** JSON, as the model wrote it. */
  arguments: string
}

/** The calls of one answer. */
const maxCalls = 128

export class ReceivedCalls {
  readonly #calls: ToolCall[] = []

  /** Adds the pieces of a chunk. @returns their characters. @throws InvalidAnswer */
  add(pieces: unknown): number {
    if (pieces === undefined || pieces === null) return 0
    if (!Array.isArray(pieces)) throw new InvalidAnswer('its calls of tools are no list')
    return pieces.reduce((sum: number, piece) => sum + this.#addPiece(piece), 0)
  }

  /** The calls, each with an id. */
  get calls(): ToolCall[] {
    return this.#calls
      .filter((call) => call !== undefined && call.name !== '')
      .map((call, i) => ({ ...call, id: call.id === '' ? `call_${i}` : call.id }))
  }

  #addPiece(piece: any): number {
    const { id, function: called, index = this.#indexOf(id) } = piece ?? {}
    if (!Number.isInteger(index) || index < 0 || index >= maxCalls)
      throw new InvalidAnswer('it calls too many tools')
    const call = (this.#calls[index] ??= { id: '', name: '', arguments: '' })
    const text = (value: unknown): string => (typeof value === 'string' ? value.toWellFormed() : '')
    const args =
      typeof called?.arguments === 'object' ? JSON.stringify(called.arguments) : text(called?.arguments)
    call.id ||= text(id)
    call.name ||= text(called?.name)
    call.arguments += args
    return args.length + text(called?.name).length
  }

  /** Some servers send no index: an id begins a new call, and a piece without one belongs to the last. */
  #indexOf(id: unknown): number {
    return typeof id === 'string' && id !== '' ? this.#calls.length : Math.max(0, this.#calls.length - 1)
  }
}
