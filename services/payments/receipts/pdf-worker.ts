// The thread in which receipts become PDFs, one after the other. It loads the PDF library and the fonts.
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { Receipt } from './model.ts'
import { renderReceiptPdf } from './pdf.ts'

export interface PdfRequest {
  id: number
  receipt: Receipt
  /** A PNG. */
  logo: Uint8Array | null
}

/** The PDF, or why there is none. */
export type PdfAnswer = { id: number; bytes: Uint8Array } | { id: number; error: string }

// The thread that serves requests comes first. Linux has a priority for each thread.
if (process.platform === 'linux') setPriority(10)

let last = Promise.resolve()

parentPort!.on('message', (request: PdfRequest) => {
  last = last.then(async () => parentPort!.postMessage(await answer(request)))
})

async function answer({ id, receipt, logo }: PdfRequest): Promise<PdfAnswer> {
  try {
    return { id, bytes: await renderReceiptPdf(receipt, logo) }
  } catch (error) {
    return { id, error: (error as Error).stack ?? String(error) }
  }
}
