// Reads the XML parts of Office documents, EPUB and OpenDocument. Only parts of the archive are read;
// external targets, macros and embedded files are not.
import { Parser } from 'htmlparser2'
import { ParsingError } from './errors.ts'
import type { Archive } from './zip.ts'

/** Bytes of XML per UTF-16 code unit of the text limit: most of the XML is formatting. */
export const xmlBytesPerCharacter = 16
const maxDepth = 500

export interface XmlHandlers {
  /** Element names have no prefix. */
  open?: (name: string, attributes: Record<string, string>) => void
  close?: (name: string) => void
  text?: (text: string) => void
}

/** Throws `damaged` if the part is missing, has a DOCTYPE, or is nested too deeply. */
export function readXml(archive: Archive, name: string, handlers: XmlHandlers): void {
  parseXml(archive.read(name).toString(), handlers)
}

/** Throws `damaged` if the XML has a DOCTYPE, or is nested too deeply. */
export function parseXml(xml: string, handlers: XmlHandlers): void {
  let depth = 0
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (++depth > maxDepth) throw new ParsingError('damaged')
        handlers.open?.(withoutPrefix(name), attributes)
      },
      onclosetag(name) {
        depth--
        handlers.close?.(withoutPrefix(name))
      },
      ontext: (text) => handlers.text?.(text),
    },
    { xmlMode: true, decodeEntities: true },
  )
  parser.end(withoutDoctype(xml))
}

/** The XML of a part. Throws `damaged`. */
export function xmlOf(archive: Archive, name: string): string {
  return withoutDoctype(archive.read(name).toString())
}

/** Programs never write a DOCTYPE. Rejecting it prevents entity expansion and external entities. */
function withoutDoctype(xml: string): string {
  if (/<!(?:DOCTYPE|ENTITY)/i.test(xml)) throw new ParsingError('damaged')
  return xml
}

function withoutPrefix(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}

/** The value of an attribute with any prefix, such as `r:id`. */
export function prefixedAttribute(attributes: Record<string, string>, name: string): string | undefined {
  return Object.entries(attributes).find(([key]) => key.endsWith(`:${name}`))?.[1]
}

export interface Relationship {
  id: string
  /** The last word of the type, such as `slide`. */
  type: string
  /** The name of the part. */
  part: string
}

/** The parts that a part refers to. Targets outside of the archive are left out. */
export function readRelationships(archive: Archive, part: string): Relationship[] {
  const folder = part.slice(0, part.lastIndexOf('/') + 1)
  const name = `${folder}_rels/${part.slice(folder.length)}.rels`
  const found: Relationship[] = []
  if (!archive.has(name)) return found
  readXml(archive, name, {
    open(element, { Id: id = '', Type: type = '', Target: target = '', TargetMode: mode }) {
      if (element === 'Relationship' && mode !== 'External')
        found.push({ id, type: type.slice(type.lastIndexOf('/') + 1), part: resolvePart(folder, target) })
    },
  })
  return found
}

/** The name of a part by a path that is relative to a folder of the archive. */
export function resolvePart(folder: string, target: string): string {
  const path = target.startsWith('/') ? target : `${folder}${target}`
  const names: string[] = []
  for (const name of path.split('/')) {
    if (name === '..') names.pop()
    else if (name !== '.' && name !== '') names.push(name)
  }
  return names.join('/')
}
