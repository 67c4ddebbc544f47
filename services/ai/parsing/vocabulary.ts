// The tokens of a byte-pair encoding, in a hash table of typed arrays. Every parser process builds it, so it
// must be cheap: a Map of strings takes four times as long.

const [space, padding] = [0x20, 0x3d]
const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const base64Values = new Uint8Array(128)
for (let value = 0; value < 64; value++) base64Values[digits.charCodeAt(value)] = value

/** Line lengths are at least this: four digits, a space, the rank, a line break. */
const minLine = 7

export class Vocabulary {
  /** The bytes of all tokens, ordered by rank. */
  #bytes: Uint8Array
  /** Where each token starts in the bytes, by rank. */
  #starts: Int32Array
  /** Hash table with linear probing: 1 + rank, or 0 for a free slot. At most half of the slots are used. */
  #slots: Int32Array

  /** `data`: a line per token in the order of ranks, in the format of tiktoken: base64, a space, the rank. */
  constructor(data: Uint8Array) {
    const maxTokens = Math.ceil(data.length / minLine)
    this.#bytes = new Uint8Array(data.length)
    this.#starts = new Int32Array(maxTokens + 1)
    this.#slots = new Int32Array(2 ** (Math.ceil(Math.log2(maxTokens)) + 1))
    readTokens(data, this.#bytes, this.#starts, this.#slots)
  }

  /** Tokens of the first `length` bytes. */
  countTokens(bytes: Uint8Array, length: number): number {
    return this.#rankOf(bytes, 0, length) < Infinity ? 1 : this.#countMerged(bytes, length)
  }

  /**
   * Merges the pair of neighbors with the lowest rank, the first of equals, until no pair is a token. Takes
   * quadratic time.
   */
  #countMerged(bytes: Uint8Array, length: number): number {
    const starts = Array.from({ length: length + 1 }, (_, index) => index)
    const ranks = Array.from({ length: length - 1 }, (_, index) => this.#rankOf(bytes, index, index + 2))
    for (;;) {
      let lowest = Infinity
      let at = -1
      for (let index = 0; index < ranks.length; index++) {
        if (ranks[index] >= lowest) continue
        lowest = ranks[index]
        at = index
      }
      if (at === -1) return starts.length - 1
      starts.splice(at + 1, 1)
      ranks.splice(at, 1)
      if (at < ranks.length) ranks[at] = this.#rankOf(bytes, starts[at], starts[at + 2])
      if (at > 0) ranks[at - 1] = this.#rankOf(bytes, starts[at - 1], starts[at + 1])
    }
  }

  /** Infinity for bytes that are not a token. */
  #rankOf(bytes: Uint8Array, start: number, end: number): number {
    const entry = this.#slots[this.#slotOf(bytes, start, end)]
    return entry === 0 ? Infinity : entry - 1
  }

  /** The slot of the token with these bytes, or the free slot for it. */
  #slotOf(bytes: Uint8Array, start: number, end: number): number {
    let hash = hashStart
    for (let index = start; index < end; index++) hash = addToHash(hash, bytes[index])
    const mask = this.#slots.length - 1
    let slot = firstSlot(hash, mask)
    while (this.#slots[slot] !== 0 && !this.#isToken(this.#slots[slot] - 1, bytes, start, end))
      slot = (slot + 1) & mask
    return slot
  }

  #isToken(rank: number, bytes: Uint8Array, start: number, end: number): boolean {
    const from = this.#starts[rank]
    if (this.#starts[rank + 1] - from !== end - start) return false
    for (let index = start; index < end; index++)
      if (bytes[index] !== this.#bytes[from + index - start]) return false
    return true
  }
}

/** Fills the arrays of a vocabulary. Hashes while it decodes, in one pass without strings or objects. */
function readTokens(data: Uint8Array, bytes: Uint8Array, starts: Int32Array, slots: Int32Array): void {
  const mask = slots.length - 1
  let rank = 0
  let end = 0
  let at = 0
  // Ranks count up from 0, so their digits, the space and the line break have a known length.
  for (let suffix = 3, nextSuffix = 10; at < data.length; at += suffix) {
    let hash = hashStart
    while (data[at] !== space) {
      const third = data[at + 2]
      const fourth = data[at + 3]
      const bits =
        (base64Values[data[at]] << 18) |
        (base64Values[data[at + 1]] << 12) |
        (base64Values[third] << 6) |
        base64Values[fourth]
      at += 4
      bytes[end++] = bits >> 16
      hash = addToHash(hash, bits >> 16)
      if (third === padding) break
      bytes[end++] = bits >> 8
      hash = addToHash(hash, (bits >> 8) & 0xff)
      if (fourth === padding) break
      bytes[end++] = bits
      hash = addToHash(hash, bits & 0xff)
    }
    let slot = firstSlot(hash, mask)
    while (slots[slot] !== 0) slot = (slot + 1) & mask
    if (rank === nextSuffix) {
      suffix++
      nextSuffix *= 10
    }
    slots[slot] = ++rank
    starts[rank] = end
  }
}

// FNV-1a.
const hashStart = 0x811c9dc5 | 0
const addToHash = (hash: number, byte: number): number => Math.imul(hash ^ byte, 0x01000193)
const firstSlot = (hash: number, mask: number): number => (hash ^ (hash >>> 15)) & mask
