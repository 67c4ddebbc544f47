// Parses Word documents: mammoth converts the XML parts to HTML, and the HTML parser extracts the text.
import mammoth from 'mammoth'
import { rewriteWordXml } from './docx-xml.ts'
import { ParsingError } from './errors.ts'
import { parseHtml } from './html.ts'
import { xmlOf } from './office-xml.ts'
import type { ParsedDocument } from './parsed-document.ts'
import type { Archive } from './zip.ts'

const styleMap = ["p[style-name='Title'] => h1:fresh", "p[style-name='Subtitle'] => p:fresh"]

export async function parseDocx(archive: Archive, limit: number): Promise<ParsedDocument> {
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
      return rewriteWordXml(xmlOf(archive, name))
    },
  }
}
