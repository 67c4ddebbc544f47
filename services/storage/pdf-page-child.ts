// The program that renders the first page of a PDF. PDFium runs as WebAssembly.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { encodeAnswer } from '../../infra/sandbox/answer.ts'
import { runProgram } from '../../infra/sandbox/program.ts'

const { values } = parseArgs({ options: { side: { type: 'string' } } })

await runProgram(async () => {
  const { PDFiumLibrary } = await import('@hyzyla/pdfium')
  const library = await PDFiumLibrary.init()
  return async () => {
    const page = (await library.loadDocument(readFileSync(0))).getPage(0)
    const { originalWidth, originalHeight } = page.getOriginalSize()
    const scale = Number(values.side) / Math.max(originalWidth, originalHeight)
    const side = (length: number): number => Math.max(1, Math.floor(length * scale))
    const { width, height, data } = await page.render({
      width: side(originalWidth),
      height: side(originalHeight),
      render: 'bitmap',
      renderFormFields: false,
    })
    return encodeAnswer({ width, height }, data)
  }
})
