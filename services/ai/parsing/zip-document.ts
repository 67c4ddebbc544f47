// Documents that are zip archives: the list of parts says which kind.
import { ParsingError } from './errors.ts'
import { xmlBytesPerCharacter } from './office-xml.ts'
import type { ParsedDocument } from './parsed-document.ts'
import { openZip } from './zip.ts'

const contentTypes = '[Content_Types].xml'
const openXml = 'application/vnd\\.(?:openxmlformats-officedocument\\.'
const kinds: [RegExp, 'docx' | 'xlsx' | 'pptx'][] = [
  [
    new RegExp(
      `${openXml}wordprocessingml\\.(?:document|template)|ms-word\\.(?:document|template)\\.macroEnabled` +
        '(?:Template)?)\\.main\\+xml',
      'i',
    ),
    'docx',
  ],
  [
    new RegExp(
      `${openXml}spreadsheetml\\.(?:sheet|template)|ms-excel\\.(?:sheet|template)\\.macroEnabled)` +
        '\\.main\\+xml',
      'i',
    ),
    'xlsx',
  ],
  [
    new RegExp(
      `${openXml}presentationml\\.(?:presentation|slideshow|template)|ms-powerpoint\\.` +
        '(?:presentation|slideshow|template)\\.macroEnabled)\\.main\\+xml',
      'i',
    ),
    'pptx',
  ],
]

/** `limit`: UTF-16 code units of the text. Throws `unsupported` for any other archive. */
export async function parseZip(bytes: Buffer, limit: number): Promise<ParsedDocument> {
  const archive = openZip(bytes, limit * xmlBytesPerCharacter)
  if (archive.has(contentTypes)) {
    const types = archive.read(contentTypes).toString()
    const kind = kinds.find(([pattern]) => pattern.test(types))?.[1]
    if (kind === 'docx') return await (await import('./docx.ts')).parseDocx(archive, limit)
    if (kind === 'xlsx') return (await import('./xlsx.ts')).parseXlsx(archive, limit)
    if (kind === 'pptx') return (await import('./pptx.ts')).parsePptx(archive, limit)
    throw new ParsingError('unsupported')
  }
  const type = archive.has('mimetype') ? archive.read('mimetype').toString('latin1', 0, 100).trim() : ''
  if (type === 'application/epub+zip') return await (await import('./epub.ts')).parseEpub(archive, limit)
  if (/^application\/vnd\.oasis\.opendocument\.(?:text|spreadsheet|presentation)(?:-template)?$/.test(type))
    return (await import('./opendocument.ts')).parseOpenDocument(archive, limit)
  throw new ParsingError('unsupported')
}
