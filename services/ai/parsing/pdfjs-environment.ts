// What pdf.js gets from its surroundings: the predefined CMaps of Chinese, Japanese and Korean fonts, and a
// place for its warnings. cmaps.zip has the folder `cmaps` of pdfjs-dist 6.1.200, with Adobe's licence. Font
// programs are not needed: pdf.js has the widths and the encodings of the standard fonts.
import { AsyncLocalStorage } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import { openZip, type Archive } from './zip.ts'

const maxCMapBytes = 16 * 2 ** 20
let archive: Archive | undefined

/** Gives pdf.js a file of the archive. */
export class CMapFiles {
  async fetch({ kind, filename }: { kind: string; filename: string }): Promise<Uint8Array> {
    if (kind !== 'cMapUrl') throw new Error(`no data of the kind ${kind}`)
    archive ??= openZip(readFileSync(new URL('cmaps.zip', import.meta.url)), maxCMapBytes)
    return new Uint8Array(archive.read(filename))
  }
}

/** What pdf.js said about a document in its warnings. */
export interface PdfNotes {
  hasUnreadableFont: boolean
  /** Whether an image was skipped, which is so for all. */
  hasImage: boolean
}

const current = new AsyncLocalStorage<PdfNotes>()
const { warn } = console

/** Runs `parse` with the notes of its document. pdf.js writes its warnings to the console. */
export async function collectNotes<T>(parse: (notes: PdfNotes) => Promise<T>): Promise<T> {
  console.warn = note
  const notes = { hasUnreadableFont: false, hasImage: false }
  return await current.run(notes, () => parse(notes))
}

function note(...values: unknown[]): void {
  const notes = current.getStore()
  if (notes === undefined) return warn(...values)
  const text = String(values[0])
  if (/translateFont failed|Error during font loading|is not available/i.test(text))
    notes.hasUnreadableFont = true
  if (/Image exceeded maximum allowed size/i.test(text)) notes.hasImage = true
}
