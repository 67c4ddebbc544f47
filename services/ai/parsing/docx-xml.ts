// Rewrites what Word documents have and mammoth does not read: text boxes without a copy for old versions of
// Word, and equations, which become text such as `(a+b)/(c)`.
import { Parser } from 'htmlparser2'
import { ParsingError } from './errors.ts'

interface Element {
  name: string
  attributes: Record<string, string>
  children: Node[]
}
type Node = Element | string

const maxDepth = 500
/** Elements that are rewritten. */
const rewritten = new Set(['mc:AlternateContent', 'w:drawing', 'm:oMath'])

/** The XML with what mammoth reads. Unchanged if it has neither a text box nor an equation. */
export function rewriteWordXml(xml: string): string {
  if (!/<(?:w:txbxContent|m:oMath)[\s>]/.test(xml)) return xml
  const output: string[] = []
  /** The open elements of the outermost one that is rewritten. */
  const open: Element[] = []
  let depth = 0
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        if (++depth > maxDepth) throw new ParsingError('damaged')
        if (open.length === 0 && !rewritten.has(name)) {
          output.push(startTag(name, attributes))
          return
        }
        const element = { name, attributes, children: [] }
        open.at(-1)?.children.push(element)
        open.push(element)
      },
      onclosetag(name) {
        depth--
        const element = open.pop()
        if (element === undefined) output.push(`</${name}>`)
        else if (open.length === 0) output.push(rewrite(element))
      },
      ontext(text) {
        const parent = open.at(-1)
        if (parent === undefined) output.push(escape(text))
        else parent.children.push(text)
      },
    },
    { xmlMode: true, decodeEntities: true },
  )
  parser.end(xml)
  return output.join('')
}

function rewrite(node: Node): string {
  if (typeof node === 'string') return escape(node)
  if (node.name === 'm:oMath')
    return `<w:r><w:t xml:space="preserve">${escape(toText(node).trim())}</w:t></w:r>`
  if (!hasReadableCopy(node)) {
    const boxes = textBoxes(node)
    if (boxes.length > 0) return boxes.join('')
  }
  return startTag(node.name, node.attributes) + node.children.map(rewrite).join('') + `</${node.name}>`
}

/** Whether mammoth reads the text boxes of the element: in the copy for old versions of Word, it does. */
function hasReadableCopy({ name, children }: Element): boolean {
  if (name === 'w:drawing') return false
  const fallback = children.find((child) => isElement(child, 'mc:Fallback'))
  return name !== 'mc:AlternateContent' || (fallback !== undefined && has(fallback, 'w:txbxContent'))
}

/** The text boxes within an element, each where mammoth looks for them. */
function textBoxes(node: Node): string[] {
  if (typeof node === 'string') return []
  if (node.name !== 'w:txbxContent') return node.children.flatMap(textBoxes)
  return [`<w:pict><w:txbxContent>${node.children.map(rewrite).join('')}</w:txbxContent></w:pict>`]
}

function isElement(node: Node, name: string): node is Element {
  return typeof node !== 'string' && node.name === name
}

function has(node: Node, name: string): boolean {
  return typeof node !== 'string' && (node.name === name || node.children.some((child) => has(child, name)))
}

/** The linear form of an equation. */
function toText(node: Node): string {
  if (typeof node === 'string') return ''
  const { name, children } = node
  const all = (): string => children.map(toText).join('')
  const part = (child: string): string => {
    const found = children.find((node) => isElement(node, child))
    return found === undefined ? '' : toText(found)
  }
  switch (name) {
    case 'm:t':
      return children.filter((child) => typeof child === 'string').join('')
    case 'm:f':
      return `${group(part('m:num'))}/${group(part('m:den'))}`
    case 'm:sSup':
      return `${part('m:e')}^${group(part('m:sup'))}`
    case 'm:sSub':
      return `${part('m:e')}_${group(part('m:sub'))}`
    case 'm:sSubSup':
      return `${part('m:e')}_${group(part('m:sub'))}^${group(part('m:sup'))}`
    case 'm:rad': {
      const degree = part('m:deg')
      return `${degree === '' ? '√' : `root ${degree} of `}(${part('m:e')})`
    }
    case 'm:d': {
      const [begin, end] = ['m:begChr', 'm:endChr'].map((child) => characterOf(node, child))
      const inner = children.filter((child) => isElement(child, 'm:e')).map(toText)
      return `${begin ?? '('}${inner.join(', ')}${end ?? ')'}`
    }
    case 'm:nary': {
      const [sub, sup] = [part('m:sub'), part('m:sup')]
      const limits = (sub === '' ? '' : `_${group(sub)}`) + (sup === '' ? '' : `^${group(sup)}`)
      return `${characterOf(node, 'm:chr') ?? '∫'}${limits} ${part('m:e')}`
    }
    case 'm:m':
      return `[${children
        .filter((child) => isElement(child, 'm:mr'))
        .map(toText)
        .join('; ')}]`
    case 'm:mr':
      return children.map(toText).join(', ')
    case 'm:func':
      return `${part('m:fName')} ${part('m:e')}`
    default:
      return all()
  }
}

function group(text: string): string {
  return /^[\p{L}\p{N}.]*$/u.test(text) ? text : `(${text})`
}

/** The value of a property, such as the character of brackets. */
function characterOf({ children }: Element, name: string): string | undefined {
  for (const child of children)
    if (typeof child !== 'string' && child.name.endsWith('Pr'))
      for (const property of child.children)
        if (isElement(property, name)) return property.attributes['m:val'] ?? ''
  return undefined
}

function startTag(name: string, attributes: Record<string, string>): string {
  const list = Object.entries(attributes).map(([key, value]) => ` ${key}="${escape(value)}"`)
  return `<${name}${list.join('')}>`
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.codePointAt(0)};`)
}
