// The calls of functions in a streamed answer. Their arguments arrive in pieces, by the index of the call.
import { randomBytes } from 'node:crypto'
import { InvalidAnswer } from './errors.ts'

export interface ToolCall {
  id: string
  name: string
  /** JSON, as the model wrote it. */
  arguments: string
}

/** The calls of one answer. */
const maxCalls = 128
/** Characters of an id and of a name. Requests accept as many. */
const maxWordLength = 200

export class ReceivedCalls {
  readonly #calls: ToolCall[] = []

  /** Adds the pieces of a chunk. @returns their characters. @throws InvalidAnswer */
  add(pieces: unknown): number {
    if (pieces === undefined || pieces === null) return 0
    if (!Array.isArray(pieces)) throw new InvalidAnswer('its calls of tools are no list')
    return pieces.reduce((sum: number, piece) => sum + this.#addPiece(piece), 0)
  }

  /** The calls so far, each with an id. Later calls and arguments are only appended to them. */
  get begun(): ToolCall[] {
    const nameless = Array.from(this.#calls).findIndex((call) => call === undefined || call.name === '')
    return shown(nameless === -1 ? this.#calls : this.#calls.slice(0, nameless)).map((call) => ({
      ...call,
      // The next piece may have the other half of the character.
      arguments: call.arguments.replace(/\p{Surrogate}$/u, '').toWellFormed(),
    }))
  }

  /** The calls of a complete answer. */
  get calls(): ToolCall[] {
    return shown(this.#calls.filter((call) => call !== undefined && call.name !== '')).map((call) => ({
      ...call,
      arguments: call.arguments.toWellFormed(),
    }))
  }

  #addPiece(piece: any): number {
    const { id, function: called, index = this.#indexOf(id) } = piece ?? {}
    if (!Number.isInteger(index) || index < 0 || index >= maxCalls)
      throw new InvalidAnswer('it calls too many tools')
    const call = (this.#calls[index] ??= { id: '', name: '', arguments: '' })
    const args =
      typeof called?.arguments === 'object' ? JSON.stringify(called.arguments) : textOf(called?.arguments)
    call.id ||= wordOf(id)
    call.name ||= wordOf(called?.name)
    call.arguments += args
    return args.length + textOf(called?.name).length
  }

  /** Some servers send no index: an id begins a new call, and a piece without one belongs to the last. */
  #indexOf(id: unknown): number {
    return typeof id === 'string' && id !== '' ? this.#calls.length : Math.max(0, this.#calls.length - 1)
  }
}

/** An id is unique in a conversation, so those of servers that send none are random. */
function shown(calls: ToolCall[]): ToolCall[] {
  for (const call of calls) call.id ||= `call_${randomBytes(12).toString('hex')}`
  return calls
}

/** PostgreSQL cannot store NUL. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll('\0', '\ufffd') : ''
}

function wordOf(value: unknown): string {
  return textOf(value).slice(0, maxWordLength).toWellFormed()
}
