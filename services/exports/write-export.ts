// Writes an export as one JSON object. Each item of a list is on a line of its own. Only one page of a list
// is in memory.
import { lists, objects, type ExportSource } from './sections.ts'

const chunkLength = 64 * 1024

/** The bytes of the file. Throws the reason of the signal after it was aborted. */
export async function* writeExport(source: ExportSource, signal: AbortSignal): AsyncGenerator<Buffer> {
  let text = ''
  for await (const piece of piecesOf(source)) {
    signal.throwIfAborted()
    text += piece
    if (text.length < chunkLength) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text)
}

async function* piecesOf(source: ExportSource): AsyncGenerator<string> {
  yield `{\n"exported_at": ${JSON.stringify(new Date())}`
  for (const [name, read] of Object.entries(objects))
    yield `,\n${JSON.stringify(name)}: ${JSON.stringify(await read(source))}`
  for (const [name, list] of Object.entries(lists)) {
    yield `,\n${JSON.stringify(name)}: [`
    let separator = '\n'
    for await (const item of list(source)) {
      yield separator + JSON.stringify(item)
      separator = ',\n'
    }
    yield '\n]'
  }
  yield '\n}\n'
}
