// Renders a receipt as a PDF of A4 pages, in the thread of pdf-worker.ts. The font covers Latin, Greek and
// Cyrillic letters and currency symbols. Other characters appear as an empty box, with a note at the end.
import { readFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { create, type Font } from 'fontkit'
import PDFDocument from 'pdfkit'
import type { Receipt } from './model.ts'

// Loaded once; each document embeds the subset that it uses.
const regular = loadFont('400Regular/Arimo_400Regular.ttf')
const bold = loadFont('700Bold/Arimo_700Bold.ttf')

function loadFont(file: string): Font {
  return create(readFileSync(new URL(import.meta.resolve(`@expo-google-fonts/arimo/${file}`)))) as Font
}

// In points. `columns` holds the right edge of each column of numbers and the width of the description.
const sheet = { left: 56, right: 539, top: 56, bottom: 770, foot: 790 }
const columns = { description: 232, quantity: 330, unitAmount: 430, amount: sheet.right }
const colors = { text: '#16181d', soft: '#5a6170', line: '#d8dce3' }
const fontSize = 9.5

/** @param logo a PNG, above the seller. */
export async function renderReceiptPdf(receipt: Receipt, logo: Uint8Array | null): Promise<Buffer> {
  const { seller, number, paidAt, updatedAt } = receipt
  const document = new PDFDocument({
    size: 'A4',
    margin: 0,
    bufferPages: true,
    lang: 'en',
    displayTitle: true,
    font: regular as never,
    info: { Title: `Receipt ${number}`, Author: seller, CreationDate: paidAt, ModDate: updatedAt },
  })
  const bytes = buffer(document)
  draw(document, receipt, logo)
  document.end()
  return await bytes
}

function draw(document: PDFKit.PDFDocument, receipt: Receipt, logo: Uint8Array | null): void {
  let y = sheet.top
  let hasBoxes = false

  const toPrintable = (text: string): string => {
    const printed = replaceMissingGlyphs(text)
    hasBoxes ||= printed !== normalize(text)
    return printed
  }
  const style = (font: Font, points: number, color = colors.text): PDFKit.PDFDocument =>
    document
      .font(font as never)
      .fontSize(points)
      .fillColor(color)
  const left = (text: string, x: number): void => {
    document.text(toPrintable(text), x, y, { lineBreak: false })
  }
  const right = (text: string, end: number): void => {
    const printed = toPrintable(text)
    document.text(printed, end - document.widthOfString(printed), y, { lineBreak: false })
  }
  const rule = (width: number, color: string): void => {
    document.moveTo(sheet.left, y).lineTo(sheet.right, y).lineWidth(width).strokeColor(color).stroke()
  }
  /** Adds a page if `height` does not fit on this one; `onNewPage` draws its heading. */
  const ensureSpace = (height: number, onNewPage: () => void = () => {}): void => {
    if (y + height <= sheet.bottom) return
    document.addPage()
    y = sheet.top
    onNewPage()
  }

  const tableHeading = (): void => {
    style(bold, 8.5, colors.soft)
    left('Item', sheet.left)
    right('Quantity', columns.quantity)
    right('Unit price', columns.unitAmount)
    right('Amount', columns.amount)
    y += 15
    rule(1, colors.text)
    y += 8
  }
  const totalRow = (label: string, amount: string, font: Font): void => {
    ensureSpace(18)
    style(font, fontSize)
    right(label, columns.unitAmount)
    right(amount, columns.amount)
    y += 18
  }

  if (logo !== null) {
    document.image(Buffer.from(logo), sheet.left, y, { fit: [240, 40] })
    y += 56
  }
  style(bold, 16)
  document.text(toPrintable(receipt.seller), sheet.left, y, { width: 330 })
  const sellerBottom = document.y
  style(regular, 16, colors.soft)
  right('Receipt', sheet.right)
  y = sellerBottom + 22
  if (receipt.warning !== null) {
    style(bold, fontSize)
    left(receipt.warning, sheet.left)
    y += 26
  }
  for (const [label, text] of [
    ['Order', receipt.number],
    ['Ordered on', receipt.orderedOn],
    ['Paid on', receipt.paidOn],
    ['Paid by', receipt.paidBy],
  ] as const) {
    if (text === null) continue
    style(regular, fontSize, colors.soft)
    left(label, sheet.left)
    style(regular, fontSize)
    left(text, sheet.left + 90)
    y += 16
  }
  y += 20

  tableHeading()
  for (const { description, quantity, unitAmount, amount } of receipt.items) {
    const text = toPrintable(description)
    style(regular, fontSize)
    const height = document.heightOfString(text, { width: columns.description })
    ensureSpace(height + 14, tableHeading)
    style(regular, fontSize)
    document.text(text, sheet.left, y, { width: columns.description })
    right(quantity, columns.quantity)
    right(unitAmount, columns.unitAmount)
    right(amount, columns.amount)
    y += height + 7
    rule(0.5, colors.line)
    y += 7
  }
  y += 4
  if (receipt.credit !== null) totalRow('Credit', `−${receipt.credit}`, regular)
  totalRow('Total paid', receipt.total, bold)
  for (const { on, amount } of receipt.refunds) totalRow(`Refunded on ${on}`, `−${amount}`, regular)
  if (receipt.remaining !== null) totalRow('Net paid', receipt.remaining, bold)
  if (hasBoxes) {
    ensureSpace(30)
    y += 16
    style(regular, 8, colors.soft)
    left(
      'A box □ is a character that the font of this PDF lacks. The HTML receipt (format=html) shows it.',
      sheet.left,
    )
  }

  const { count } = document.bufferedPageRange()
  for (let i = 0; i < count; i++) {
    document.switchToPage(i)
    y = sheet.foot
    style(regular, 8, colors.soft)
    left(`Receipt ${receipt.number}`, sheet.left)
    right(`Page ${i + 1} of ${count}`, sheet.right)
  }
}

const box = '□'
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** One line, without format and control characters. */
function normalize(text: string): string {
  return text
    .normalize('NFC')
    .replace(/[\p{Cf}\p{Cc}\s]+/gu, (found) => (/\s/.test(found) ? ' ' : ''))
    .trim()
}

/** Replaces every grapheme that the font lacks, or that is written from right to left, with a box. */
function replaceMissingGlyphs(text: string): string {
  return Array.from(graphemes.segment(normalize(text)), ({ segment }) =>
    [...segment].every(isPrintable) ? segment : box,
  ).join('')
}

function isPrintable(character: string): boolean {
  return (
    regular.hasGlyphForCodePoint(character.codePointAt(0)!) &&
    !/[\p{Script=Hebrew}\p{Script=Arabic}]/u.test(character)
  )
}
