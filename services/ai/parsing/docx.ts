// Parses Word documents: mammoth converts the XML parts to HTML, and the HTML parser extracts the text.
import mammoth from 'mammoth'
import { rewriteWordXml } from './docx-xml.ts'
import { ParsingError } from './errors.ts'
import { parseHtml } from './html.ts'
import type { ParsedDocument } from './parsed-document.ts'
import { openZip, type Archive } from './zip.ts'

/** Bytes of XML per UTF-16 code unit of the text limit: most of the XML is formatting. */
const xmlBytesPerCharacter = 5
const contentTypes = '[Content_Types].xml'
const wordContentType = new RegExp(
  'application/vnd\\.(?:openxmlformats-officedocument\\.wordprocessingml\\.(?:document|template)' +
    '|ms-word\\.(?:document|template)\\.macroEnabled(?:Template)?)\\.main\\+xml',
  'i',
)
const styleMap = ["p[style-name='Title'] => h1:fresh", "p[style-name='Subtitle'] => p:fresh"]

/** `limit`: UTF-16 code units of the text. Throws `unsupported` for any other archive. */
export async function parseDocx(bytes: Buffer, limit: number): Promise<ParsedDocument> {
  const archive = openZip(bytes, limit * xmlBytesPerCharacter)
  if (!archive.has(contentTypes) || !wordContentType.test(archive.read(contentTypes).toString()))
    throw new ParsingError('unsupported')
  const { value } = await convertToHtml(archive)
  // Mammoth ends each footnote with an arrow that links back to its reference.
  return parseHtml(value.replace(/<a href="#[\w-]{1,100}">↑<\/a>/g, ''), limit)
}

async function convertToHtml(archive: Archive): Promise<{ value: string }> {
  try {
    // Mammoth also accepts an open archive, which its types do not declare.
    return await mammoth.convertToHtml(
      { file: xmlPartsOf(archive) } as never,
      {
        styleMap,
        includeEmbeddedStyleMap: false,
        externalFileAccess: false,
        convertImage: () => Promise.resolve([]),
      } as never,
    )
  } catch (error) {
    throw error instanceof ParsingError ? error : new ParsingError('damaged')
  }
}

/** The archive interface that mammoth expects, limited to XML parts. */
function xmlPartsOf(archive: Archive): {
  exists(name: string): boolean
  read(name: string, encoding?: string): Promise<string>
} {
  return {
    exists: (name) => archive.has(name) && /\.(?:xml|rels)$/.test(name),
    read: async (name) => {
      const xml = archive.read(name).toString()
      // Word never writes a DOCTYPE. Rejecting it prevents entity expansion and external entities.
      if (/<!(?:DOCTYPE|ENTITY)/i.test(xml)) throw new ParsingError('damaged')
      return rewriteWordXml(xml)
    },
  }
}
