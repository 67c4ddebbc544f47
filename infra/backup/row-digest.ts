// Counts and hashes rows on their way through a stream, in the text format of COPY: one line for each row.
// The digest does not depend on the order of the rows.
import { hash } from 'node:crypto'
import { Transform, type TransformCallback } from 'node:stream'

export interface RowCounts {
  rows: number
  /** Bytes in the text format of COPY. */
  bytes: number
  /** The sum of the rows' SHA-256, cut to 128 bits, in hex. */
  digest: string
}

const newline = 0x0a
const none: Buffer = Buffer.alloc(0)

export class RowDigest extends Transform {
  readonly #sum = new Uint32Array(4)
  #rest: Buffer = none
  #rows = 0
  #bytes = 0

  get counts(): RowCounts {
    return { rows: this.#rows, bytes: this.#bytes, digest: hexOf(this.#sum) }
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#bytes += chunk.length
    let start = 0
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      const line = chunk.subarray(start, end)
      this.#add(this.#rest.length === 0 ? line : Buffer.concat([this.#rest, line]))
      this.#rest = none
      start = end + 1
    }
    if (start < chunk.length) this.#rest = Buffer.concat([this.#rest, chunk.subarray(start)])
    done(null, chunk)
  }

  #add(row: Buffer): void {
    const digest = hash('sha256', row, 'buffer')
    for (let lane = 0; lane < 4; lane++) this.#sum[lane] += digest.readUInt32BE(lane * 4)
    this.#rows++
  }
}

function hexOf(sum: Uint32Array): string {
  return [...sum].map((lane) => lane.toString(16).padStart(8, '0')).join('')
}
