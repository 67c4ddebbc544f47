// Builds workbooks, presentations, books and messages part by part, so that tests can build
// invalid ones, too.
import { burn } from '@kenjiuno/msgreader/lib/Burner.js'
import { zip, type ZipEntry } from './documents.ts'

const relationshipType = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'

export function relationships(list: Record<string, [type: string, target: string, mode?: string]>): string {
  const items = Object.entries(list).map(
    ([id, [type, target, mode]]) =>
      `<Relationship Id="${id}" Type="${relationshipType}/${type}" Target="${target}"` +
      `${mode === undefined ? '' : ` TargetMode="${mode}"`}/>`,
  )
  return `<?xml version="1.0"?><Relationships>${items.join('')}</Relationships>`
}

const contentTypes = (main: string): ZipEntry => ({
  name: '[Content_Types].xml',
  content: `<Types><Override PartName="/main" ContentType="application/vnd.${main}.main+xml"/></Types>`,
})

interface Sheet {
  name: string
  /** The content of `sheetData`. */
  rows: string
  state?: string
}

export function xlsxParts(sheets: Sheet[], strings: string[] = [], type?: string): ZipEntry[] {
  const list = sheets.map(
    ({ name, state }, index) =>
      `<sheet name="${name}" sheetId="${index + 1}" r:id="s${index}" state="${state ?? 'visible'}"/>`,
  )
  return [
    contentTypes(type ?? 'openxmlformats-officedocument.spreadsheetml.sheet'),
    { name: 'xl/workbook.xml', content: `<workbook><sheets>${list.join('')}</sheets></workbook>` },
    {
      name: 'xl/_rels/workbook.xml.rels',
      content: relationships({
        strings: ['sharedStrings', 'sharedStrings.xml'],
        styles: ['styles', 'styles.xml'],
        ...Object.fromEntries(
          sheets.map((_, index) => [`s${index}`, ['worksheet', `worksheets/${index}.xml`]]),
        ),
      }),
    },
    {
      name: 'xl/sharedStrings.xml',
      content: `<sst>${strings.map((text) => `<si><t>${text}</t></si>`).join('')}</sst>`,
    },
    {
      name: 'xl/styles.xml',
      content:
        '<styleSheet><numFmts><numFmt numFmtId="164" formatCode="&quot;Tag&quot; dd.mm.yyyy"/></numFmts>' +
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf' +
        ' numFmtId="9"/><xf numFmtId="22"/></cellXfs></styleSheet>',
    },
    ...sheets.map(({ rows }, index) => ({
      name: `xl/worksheets/${index}.xml`,
      content: `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
    })),
  ]
}

export const xlsx = (...args: Parameters<typeof xlsxParts>): Buffer => zip(xlsxParts(...args))

export function pptxParts(slides: string[], notes: Record<number, string> = {}): ZipEntry[] {
  const shapes = (content: string): string =>
    `<p:sld><p:cSld><p:spTree>${content}</p:spTree></p:cSld></p:sld>`
  const ids = slides.map((_, index) => `<p:sldId id="${256 + index}" r:id="r${index}"/>`)
  return [
    contentTypes('openxmlformats-officedocument.presentationml.presentation'),
    {
      name: 'ppt/presentation.xml',
      content: `<p:presentation><p:sldIdLst>${ids.join('')}</p:sldIdLst></p:presentation>`,
    },
    {
      name: 'ppt/_rels/presentation.xml.rels',
      content: relationships(
        Object.fromEntries(slides.map((_, index) => [`r${index}`, ['slide', `slides/slide${index}.xml`]])),
      ),
    },
    ...slides.map((content, index) => ({ name: `ppt/slides/slide${index}.xml`, content: shapes(content) })),
    ...Object.entries(notes).flatMap(([index, content]) => [
      {
        name: `ppt/slides/_rels/slide${index}.xml.rels`,
        content: relationships({ n: ['notesSlide', `../notesSlides/${index}.xml`] }),
      },
      { name: `ppt/notesSlides/${index}.xml`, content: shapes(content) },
    ]),
  ]
}

export function shape(text: string, placeholder?: string): string {
  const properties = placeholder === undefined ? '' : `<p:nvPr><p:ph type="${placeholder}"/></p:nvPr>`
  const paragraphs = text.split('\n').map((line) => `<a:p><a:r><a:t>${line}</a:t></a:r></a:p>`)
  return `<p:sp><p:nvSpPr>${properties}</p:nvSpPr><p:txBody>${paragraphs.join('')}</p:txBody></p:sp>`
}

export function epubParts(chapters: Record<string, string>, more: ZipEntry[] = []): ZipEntry[] {
  const names = Object.keys(chapters)
  return [
    { name: 'mimetype', content: 'application/epub+zip', method: 0 },
    {
      name: 'META-INF/container.xml',
      content: '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>',
    },
    {
      name: 'OPS/book.opf',
      content:
        '<package><manifest><item id="nav" href="nav.xhtml"' +
        ' properties="nav" media-type="application/xhtml+xml"/>' +
        names
          .map((name) => `<item id="${name}" href="${name}.xhtml" media-type="application/xhtml+xml"/>`)
          .join('') +
        '</manifest><spine><itemref idref="nav"/>' +
        names.map((name) => `<itemref idref="${name}"/>`).join('') +
        '</spine></package>',
    },
    { name: 'OPS/nav.xhtml', content: '<html><body><p>Contents</p></body></html>' },
    ...Object.entries(chapters)
      .filter(([, content]) => content !== '')
      .map(([name, content]) => ({
        name: `OPS/${name}.xhtml`,
        content:
          `<?xml version="1.0"?><!DOCTYPE html><html><head>` +
          `<title>t</title></head><body>${content}</body></html>`,
      })),
    ...more,
  ]
}

export const odt = (body: string, type = 'text'): Buffer =>
  zip([
    { name: 'mimetype', content: `application/vnd.oasis.opendocument.${type}`, method: 0 },
    {
      name: 'content.xml',
      content:
        `<?xml version="1.0"?><office:document-content><office:body>` +
        `<office:text>${body}</office:text></office:body></office:document-content>`,
    },
  ])

/** A message of Outlook with Unicode properties by their tag, such as `0037` for the subject. */
export function msg(properties: Record<string, string>): Buffer {
  const streams: [string, Buffer][] = [
    ['__properties_version1.0', Buffer.alloc(32)],
    ...Object.entries(properties).map(([tag, text]): [string, Buffer] => [
      `__substg1.0_${tag}001F`,
      Buffer.from(text, 'utf16le'),
    ]),
  ]
  const root = { name: 'Root Entry', type: 5, length: 0, children: streams.map((_, index) => index + 1) }
  const documents = streams.map(([name, bytes]) => ({
    name,
    type: 2,
    length: bytes.length,
    binaryProvider: () => Uint8Array.from(bytes),
  }))
  return Buffer.from(burn([root, ...documents]))
}
