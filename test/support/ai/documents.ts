// Builds zip archives, Word documents and PDFs byte by byte, so that tests can also build invalid ones.
import { crc32, deflateRawSync, deflateSync } from 'node:zlib'

export interface ZipEntry {
  name: string
  content: string | Buffer
  /** The compressed bytes, for content that is too large to build. */
  packed?: Buffer
  /** The uncompressed size that the archive declares. */
  size?: number
  flags?: number
  method?: number
}

export function zip(entries: ZipEntry[]): Buffer {
  const files: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, content, packed, size, flags = 0, method = 8 } of entries) {
    const bytes = Buffer.from(content)
    const body = packed ?? (method === 0 ? bytes : deflateRawSync(bytes))
    const header = Buffer.alloc(26)
    header.writeUInt16LE(20, 0)
    header.writeUInt16LE(flags, 2)
    header.writeUInt16LE(method, 4)
    header.writeUInt32LE(crc32(bytes), 10)
    header.writeUInt32LE(body.length, 14)
    header.writeUInt32LE(size ?? bytes.length, 18)
    header.writeUInt16LE(Buffer.byteLength(name), 22)
    const location = Buffer.alloc(14)
    location.writeUInt32LE(offset, 10)
    files.push(Buffer.from('PK\x03\x04', 'latin1'), header, Buffer.from(name), body)
    directory.push(Buffer.from('PK\x01\x02\x14\0', 'latin1'), header, location, Buffer.from(name))
    offset += 4 + header.length + Buffer.byteLength(name) + body.length
  }
  const list = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(entries.length & 0xffff, 8)
  end.writeUInt16LE(entries.length & 0xffff, 10)
  end.writeUInt32LE(list.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...files, list, end])
}

const main = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml'
const packageNamespace = 'http://schemas.openxmlformats.org/package/2006'
const officeDocument = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument'
export const wordNamespace = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main'

/** The parts of a Word document with the body. */
export function docxParts(body: string): ZipEntry[] {
  const style = (id: string, name: string): string =>
    `<w:style w:type="paragraph" w:styleId="${id}"><w:name w:val="${name}"/></w:style>`
  return [
    {
      name: '[Content_Types].xml',
      content:
        `<?xml version="1.0"?><Types xmlns="${packageNamespace}/content-types">` +
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
        `<Override PartName="/word/document.xml" ContentType="${main}"/></Types>`,
    },
    {
      name: '_rels/.rels',
      content:
        `<?xml version="1.0"?><Relationships xmlns="${packageNamespace}/relationships">` +
        `<Relationship Id="r1" Type="${officeDocument}" Target="word/document.xml"/></Relationships>`,
    },
    {
      name: 'word/styles.xml',
      content:
        `<?xml version="1.0"?><w:styles xmlns:w="${wordNamespace}">` +
        `${style('Title', 'Title')}${style('H1', 'heading 1')}${style('H2', 'heading 2')}</w:styles>`,
    },
    {
      name: 'word/document.xml',
      content:
        `<?xml version="1.0"?><w:document xmlns:w="${wordNamespace}">` +
        `<w:body>${body}</w:body></w:document>`,
    },
  ]
}

export function docx(body: string): Buffer {
  return zip(docxParts(body))
}

export function paragraph(text: string, style?: string): string {
  const properties = style === undefined ? '' : `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`
  return `<w:p>${properties}<w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`
}

export function table(rows: string[][]): string {
  const cells = (row: string[]): string => row.map((cell) => `<w:tc>${paragraph(cell)}</w:tc>`).join('')
  return `<w:tbl>${rows.map((row) => `<w:tr>${cells(row)}</w:tr>`).join('')}</w:tbl>`
}

/** The content of a PDF object, between `obj` and `endobj`. */
export type PdfObject = string | Buffer

/** A PDF of objects numbered from 1, with a cross-reference table. The first object is the catalog. */
export function pdfOf(objects: PdfObject[], trailer = ''): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n', 'latin1')]
  const offsets: number[] = []
  let length = parts[0].length
  const add = (bytes: Buffer): void => {
    parts.push(bytes)
    length += bytes.length
  }
  objects.forEach((object, index) => {
    offsets.push(length)
    add(
      Buffer.concat([
        Buffer.from(`${index + 1} 0 obj\n`),
        Buffer.isBuffer(object) ? object : Buffer.from(object, 'latin1'),
        Buffer.from('\nendobj\n'),
      ]),
    )
  })
  const start = length
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  add(
    Buffer.from(
      `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}` +
        `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${start}\n%%EOF\n`,
    ),
  )
  return Buffer.concat(parts)
}

export function stream(content: Buffer | string, entries = ''): Buffer {
  const bytes = Buffer.from(content)
  return Buffer.concat([
    Buffer.from(`<< /Length ${bytes.length} ${entries} >>\nstream\n`),
    bytes,
    Buffer.from('\nendstream'),
  ])
}

export function packedStream(content: Buffer | string, entries = ''): Buffer {
  return stream(deflateSync(content), `/Filter /FlateDecode ${entries}`)
}

export interface PdfLine {
  text: string
  size?: number
}

/** Lines from the top of a page downwards, in Helvetica. An empty line is a gap. */
export function pageContent(lines: (string | PdfLine)[]): string {
  let y = 800
  return lines
    .map((line) => {
      const { text, size = 12 } = typeof line === 'string' ? { text: line } : line
      y -= size * 1.2
      return text === ''
        ? ''
        : `BT /F1 ${size} Tf 1 0 0 1 50 ${y.toFixed(1)} Tm (${text.replace(/[()\\]/g, '\\$&')}) Tj ET\n`
    })
    .join('')
}

/** `more`: further objects, numbered from 4 + 2 × pages. */
export function pdf(
  pages: (string | PdfLine)[][],
  { catalog = '', count = pages.length, trailer = '', more = [] as PdfObject[] } = {},
): Buffer {
  const kids = pages.map((_, index) => `${4 + 2 * index} 0 R`).join(' ')
  return pdfOf(
    [
      `<< /Type /Catalog /Pages 2 0 R ${catalog} >>`,
      `<< /Type /Pages /Kids [${kids}] /Count ${count} >>`,
      '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
      ...pages.flatMap((lines, index) => [
        '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> ' +
          `/Contents ${5 + 2 * index} 0 R >>`,
        stream(Buffer.from(pageContent(lines), 'latin1')),
      ]),
      ...more,
    ],
    trailer,
  )
}
