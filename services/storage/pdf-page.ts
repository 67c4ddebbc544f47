// Renders the first page of a PDF in a sandboxed process, because PDFs come from untrusted users.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { decodeAnswer } from '../../infra/sandbox/answer.ts'
import { SandboxError } from '../../infra/sandbox/errors.ts'
import { runSandboxed, type Program } from '../../infra/sandbox/process.ts'

const path = join(dirname(fileURLToPath(import.meta.url)), 'pdf-page-child.ts')
const program: Program = { path, readable: [path] }
/** The longer side of the page in pixels: no image is larger. */
const side = 2048
const limits = { seconds: 20, memoryBytes: 512 * 2 ** 20, answerBytes: 4 * side ** 2 + 1024 }

export interface Pixels {
  width: number
  height: number
  /** RGBA, 8 bits each. */
  data: Buffer
}

/** @throws SandboxError for a PDF that is damaged, protected by a password, or too costly to render */
export async function renderFirstPage(pdf: Buffer): Promise<Pixels> {
  const answer = await runSandboxed(program, pdf, [`--side=${side}`], limits)
  const {
    facts: { width, height },
    content: data,
  } = decodeAnswer(answer)
  const isSide = (pixels: unknown): boolean => Number.isInteger(pixels) && (pixels as number) > 0
  if (!isSide(width) || !isSide(height) || data.length !== 4 * width * height)
    throw new SandboxError('damaged')
  return { width, height, data }
}
