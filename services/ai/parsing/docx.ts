// The text of a Word document: its parts, checked, become HTML, and that becomes text.
import mammoth from 'mammoth'
import { ParsingError } from './errors.ts'
import { parseHtml } from './html.ts'
import type { ParsedDocument } from './parsed-document.ts'
import { openZip, type Archive } from './zip.ts'

/** Bytes of XML for each UTF-16 code unit of text that may come of it: formats take most of the room. */
const xmlRatio = 5
const contentTypes = '[Content_Types].xml'
const documentType =
  /application\/vnd\.(?:openxmlformats-officedocument\.wordprocessingml\.(?:document|template)|ms-word\.(?:document|template)\.macroEnabled(?:Template)?)\.main\+xml/i
const styles = ["p[style-name='Title'] => h1:fresh", "p[style-name='Subtitle'] => p:fresh"]

/** At most `limit` UTF-16 code units of text. Throws `unsupported` for any other archive. */
export async function parseDocx(bytes: Buffer, limit: number): Promise<ParsedDocument> {
  const archive = openZip(bytes, limit * xmlRatio)
  if (!archive.has(contentTypes) || !documentType.test(archive.read(contentTypes).toString()))
    throw new ParsingError('unsupported')
  const { value } = await convert(archive)
  // A note ends with an arrow back to its place.
  return parseHtml(value.replace(/<a href="#[\w-]{1,100}">↑<\/a>/g, ''), limit)
}

async function convert(archive: Archive): Promise<{ value: string }> {
  try {
    // Mammoth takes an archive that is open already, which its types do not say.
    return await mammoth.convertToHtml(
      { file: partsOf(archive) } as never,
      {
        styleMap: styles,
        includeEmbeddedStyleMap: false,
        externalFileAccess: false,
        convertImage: () => Promise.resolve([]),
      } as never,
    )
  } catch (error) {
    throw error instanceof ParsingError ? error : new ParsingError('damaged')
  }
}

/** What mammoth asks of an archive; of its parts only XML is given. */
function partsOf(archive: Archive): {
  exists(name: string): boolean
  read(name: string, encoding?: string): Promise<string>
} {
  return {
    exists: (name) => archive.has(name) && /\.(?:xml|rels)$/.test(name),
    read: async (name) => {
      const xml = archive.read(name).toString()
      // Word never declares a document type: it is how entities would be made.
      if (/<!(?:DOCTYPE|ENTITY)/i.test(xml)) throw new ParsingError('damaged')
      return xml
    },
  }
}
