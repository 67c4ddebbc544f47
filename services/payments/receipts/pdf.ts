// A receipt as a PDF of A4 pages. Its font has the Latin, Greek and Cyrillic letters and the signs of currencies; what else there is in a name is
// shown as an empty box, and a line says so.
import { readFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { create, type Font } from 'fontkit'
import PDFDocument from 'pdfkit'
import type { Receipt } from './model.ts'

// Read once: every document takes of it what it needs.
const regular = fontOf('400Regular/Arimo_400Regular.ttf')
const bold = fontOf('700Bold/Arimo_700Bold.ttf')

function fontOf(file: string): Font {
  return create(readFileSync(new URL(import.meta.resolve(`@expo-google-fonts/arimo/${file}`)))) as Font
}

/** In points. The columns of figures end where they are said to. */
const sheet = { left: 56, right: 539, top: 56, bottom: 770, foot: 790 }
const columns = { description: 232, quantity: 330, unitAmount: 430, amount: sheet.right }
const colors = { text: '#16181d', soft: '#5a6170', line: '#d8dce3' }
const size = 9.5

export async function receiptPdf(receipt: Receipt): Promise<Buffer> {
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
  const done = buffer(document)
  draw(document, receipt)
  document.end()
  return await done
}

function draw(document: PDFKit.PDFDocument, receipt: Receipt): void {
  let y = sheet.top
  let hasBoxes = false

  const set = (text: string): string => {
    const printed = printable(text)
    hasBoxes ||= printed !== plain(text)
    return printed
  }
  const style = (font: Font, points: number, color = colors.text): PDFKit.PDFDocument =>
    document
      .font(font as never)
      .fontSize(points)
      .fillColor(color)
  const left = (text: string, x: number): void => {
    document.text(set(text), x, y, { lineBreak: false })
  }
  const right = (text: string, end: number): void => {
    const printed = set(text)
    document.text(printed, end - document.widthOfString(printed), y, { lineBreak: false })
  }
  const rule = (width: number, color: string): void => {
    document.moveTo(sheet.left, y).lineTo(sheet.right, y).lineWidth(width).strokeColor(color).stroke()
  }
  /** Goes on on another page where so much does not fit on this one. */
  const need = (height: number, begin: () => void = () => {}): void => {
    if (y + height <= sheet.bottom) return
    document.addPage()
    y = sheet.top
    begin()
  }

  const heading = (): void => {
    style(bold, 8.5, colors.soft)
    left('Item', sheet.left)
    right('Quantity', columns.quantity)
    right('Unit price', columns.unitAmount)
    right('Amount', columns.amount)
    y += 15
    rule(1, colors.text)
    y += 8
  }
  const sum = (what: string, amount: string, font: Font): void => {
    need(18)
    style(font, size)
    right(what, columns.unitAmount)
    right(amount, columns.amount)
    y += 18
  }

  style(bold, 16)
  const name = set(receipt.seller)
  document.text(name, sheet.left, y, { width: 330 })
  const under = document.y
  style(regular, 16, colors.soft)
  right('Receipt', sheet.right)
  y = under + 22
  if (receipt.warning !== null) {
    style(bold, size)
    left(receipt.warning, sheet.left)
    y += 26
  }
  for (const [what, text] of [
    ['Order', receipt.number],
    ['Ordered on', receipt.orderedOn],
    ['Paid on', receipt.paidOn],
    ['Paid by', receipt.paidBy],
  ] as const) {
    if (text === null) continue
    style(regular, size, colors.soft)
    left(what, sheet.left)
    style(regular, size)
    left(text, sheet.left + 90)
    y += 16
  }
  y += 20

  heading()
  for (const { description, quantity, unitAmount, amount } of receipt.items) {
    const text = set(description)
    style(regular, size)
    const height = document.heightOfString(text, { width: columns.description })
    need(height + 14, heading)
    style(regular, size)
    document.text(text, sheet.left, y, { width: columns.description })
    right(quantity, columns.quantity)
    right(unitAmount, columns.unitAmount)
    right(amount, columns.amount)
    y += height + 7
    rule(0.5, colors.line)
    y += 7
  }
  y += 4
  sum('Total paid', receipt.total, bold)
  for (const { on, amount } of receipt.refunds) sum(`Given back on ${on}`, `−${amount}`, regular)
  if (receipt.remaining !== null) sum('Remains paid', receipt.remaining, bold)
  if (hasBoxes) {
    need(30)
    y += 16
    style(regular, 8, colors.soft)
    left(
      'Where a box □ stands, the font of this file lacks a letter. The receipt as a page (format=html) has them all.',
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

/** On one line, and without what only steers how text is shown. */
function plain(text: string): string {
  return text
    .normalize('NFC')
    .replace(/[\p{Cf}\p{Cc}\s]+/gu, (signs) => (/\s/.test(signs) ? ' ' : ''))
    .trim()
}

/** What the font has, and what is set as it is written: from left to right. */
function printable(text: string): string {
  return Array.from(graphemes.segment(plain(text)), ({ segment }) =>
    [...segment].every(isPrintable) ? segment : box,
  ).join('')
}

function isPrintable(sign: string): boolean {
  return (
    regular.hasGlyphForCodePoint(sign.codePointAt(0)!) && !/[\p{Script=Hebrew}\p{Script=Arabic}]/u.test(sign)
  )
}
