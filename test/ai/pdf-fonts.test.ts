// PDFs whose text needs more than the bytes of the page: predefined CMaps of Chinese, Japanese and Korean,
// and the warnings about fonts, images and pages that cannot be read.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseDocument, type ParseResult } from '../../services/ai/parsing/parse.ts'
import { parseInProcess } from '../support/ai/document-worker.ts'
import { pageContent, pdf, pdfOf, stream, type PdfObject } from '../support/ai/documents.ts'
import { encodeAs } from '../support/ai/encode.ts'

const folder = t.testdir({})
let count = 0

async function parse(bytes: Buffer, parser = parseInProcess): Promise<ParseResult> {
  const path = join(folder, String(count++))
  writeFileSync(path, bytes)
  const source = { path, name: 'a.pdf', contentType: 'application/pdf' }
  return await parser(source, { maxTokens: 200, overlapTokens: 0 })
}

interface Page {
  /** Hexadecimal codes in the font F2. */
  codes?: string
  lines?: string[]
  image?: boolean
}

/** Pages with Helvetica as F1 and a font without an embedded file as F2. */
function pdfWithFont(encoding: string, ordering: string, pages: Page[]): Buffer {
  const kids = pages.map((_, index) => `${8 + 2 * index} 0 R`).join(' ')
  const objects: PdfObject[] = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    `<< /Type /Font /Subtype /Type0 /BaseFont /Some-Light /Encoding /${encoding} /DescendantFonts [5 0 R] >>`,
    '<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Some-Light /CIDSystemInfo << /Registry (Adobe) ' +
      `/Ordering (${ordering}) /Supplement 0 >> /FontDescriptor 6 0 R /DW 1000 >>`,
    '<< /Type /FontDescriptor /FontName /Some-Light /Flags 4 /FontBBox [0 -200 1000 900] /ItalicAngle 0 ' +
      '/Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>',
    stream(
      Buffer.alloc(64),
      '/Type /XObject /Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray /BitsPerComponent 8',
    ),
  ]
  pages.forEach(({ codes, lines = [], image = false }, index) => {
    const content = [
      codes === undefined ? '' : `BT /F2 18 Tf 72 720 Td <${codes}> Tj ET\n`,
      pageContent(lines),
      image ? 'q 500 0 0 700 0 0 cm /I1 Do Q\n' : '',
    ]
    objects.push(
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R /F2 4 0 R >> ' +
        `/XObject << /I1 7 0 R >> >> /Contents ${9 + 2 * index} 0 R >>`,
      stream(content.join('')),
    )
  })
  return pdfOf(objects)
}

const ucs2 = (text: string): string => Buffer.from(text, 'utf16le').swap16().toString('hex')
const reference = ['Reference A-4711']

t.test('text in predefined CMaps of Chinese, Japanese and Korean is read', async (t) => {
  const documents: [string, Buffer][] = [
    [
      '退款期限为三十天',
      pdfWithFont('UniGB-UCS2-H', 'GB1', [{ codes: ucs2('退款期限为三十天'), lines: reference }]),
    ],
    [
      '返品期限は三十日',
      pdfWithFont('90ms-RKSJ-H', 'Japan1', [
        { codes: encodeAs('shift_jis', '返品期限は三十日').toString('hex') },
      ]),
    ],
    ['환불 기한', pdfWithFont('UniKS-UCS2-H', 'Korea1', [{ codes: ucs2('환불 기한') }])],
    ['退貨期限', pdfWithFont('ETen-B5-H', 'CNS1', [{ codes: encodeAs('big5', '退貨期限').toString('hex') }])],
  ]
  for (const [text, bytes] of documents) {
    const result = await parse(bytes)
    t.ok(result.text.startsWith(text), result.text)
    t.same(result.warnings, [])
  }
  t.match(
    await parse(documents[0][1], parseDocument),
    { text: `退款期限为三十天\n\n${reference}` },
    'sandboxed',
  )
})

t.test('a font whose characters are unknown is a warning with its pages', async (t) => {
  const codes = ucs2('退款期限')
  const pages = [{ codes, lines: reference }, { lines: reference }, { codes }]
  t.match(await parse(pdfWithFont('No-Such-H', 'GB1', pages)), {
    text: /^Reference A-4711\n\nReference A-4711/,
    warnings: [{ code: 'unreadable_font', pages: [1, 3] }],
  })
  await t.rejects(parse(pdfWithFont('No-Such-H', 'GB1', [{ codes }])), {
    code: 'empty',
    message: /^The document contains no text\. Some text uses a font/,
    warnings: [{ code: 'unreadable_font', pages: [1] }],
  })
})

t.test('a page is called an image only if it has one, and no text', async (t) => {
  const pages = [{ lines: reference, image: true }, { image: true }, {}]
  t.match(await parse(pdfWithFont('UniGB-UCS2-H', 'GB1', pages)), {
    text: /Reference/,
    warnings: [{ code: 'image_without_text', pages: [2] }],
  })
  await t.rejects(parse(pdfWithFont('UniGB-UCS2-H', 'GB1', [{ image: true }])), {
    code: 'empty',
    message: /scanned pages, is not recognized\.$/,
  })
  await t.rejects(parse(pdf([[], []])), {
    code: 'empty',
    message: 'The document contains no text.',
    warnings: [],
  })
})
