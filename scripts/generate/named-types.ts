// Gives the types of openapi-typescript names: each schema becomes an exported interface or type, and so do
// the path, query and header parameters of each operation. Editors then show `Project` and
// `ListProjectsQuery` instead of the whole type. A property without a description gets that of its schema.
import ts from 'typescript'
import { parametersTypeOf, parameterTypes, typeNameOf } from '../../services/docs/client-types.ts'
import { GenerateError } from './error.ts'

type Json = any

const { factory } = ts
const exported = [factory.createModifier(ts.SyntaxKind.ExportKeyword)]

/**
 * @param unions the schemas whose type is the union of other schemas.
 * @throws GenerateError if two types would have one name.
 */
export function withNamedTypes(nodes: ts.Node[], document: Json, unions: Map<string, string[]>): ts.Node[] {
  const naming = new Naming(document.components?.schemas ?? {}, unions)
  const rest = nodes.map((node) => naming.visit(node))
  return [...rest, ...naming.declarations]
}

class Naming {
  readonly declarations: ts.Node[] = []
  readonly #schemas: Record<string, Json>
  readonly #unions: Map<string, string[]>
  readonly #taken = new Set(['paths', 'webhooks', 'components', 'operations', '$defs'])

  constructor(schemas: Record<string, Json>, unions: Map<string, string[]>) {
    this.#schemas = schemas
    this.#unions = unions
  }

  visit(node: ts.Node): ts.Node {
    if (ts.isInterfaceDeclaration(node) && node.name.text === 'components')
      return this.#withMembers(node, (member) =>
        nameOf(member) === 'schemas' ? this.#mapLiteral(member, (schema) => this.#schema(schema)) : member,
      )
    if (ts.isInterfaceDeclaration(node) && node.name.text === 'operations')
      return this.#withMembers(node, (member) => this.#operation(member))
    return this.#inner(node)
  }

  #withMembers(
    node: ts.InterfaceDeclaration,
    map: (member: ts.PropertySignature) => ts.PropertySignature,
  ): ts.Node {
    const members = node.members.map((member) => this.#inner(map(member as ts.PropertySignature)))
    return factory.updateInterfaceDeclaration(
      node,
      node.modifiers,
      node.name,
      node.typeParameters,
      node.heritageClauses,
      members as ts.TypeElement[],
    )
  }

  #mapLiteral(
    member: ts.PropertySignature,
    map: (inner: ts.PropertySignature) => ts.PropertySignature,
  ): ts.PropertySignature {
    if (member.type === undefined || !ts.isTypeLiteralNode(member.type)) return member
    const members = member.type.members.map((inner) => (ts.isPropertySignature(inner) ? map(inner) : inner))
    return withType(member, factory.createTypeLiteralNode(members))
  }

  #schema(member: ts.PropertySignature): ts.PropertySignature {
    const component = nameOf(member)
    const union = this.#unions.get(component)
    const type =
      union === undefined
        ? (this.#inner(member.type!) as ts.TypeNode)
        : factory.createUnionTypeNode(union.map((name) => reference(typeNameOf(name))))
    return withType(member, this.#declare(typeNameOf(component), type, member))
  }

  #operation(member: ts.PropertySignature): ts.PropertySignature {
    const id = nameOf(member)
    return this.#mapLiteral(member, (part) =>
      nameOf(part) !== 'parameters'
        ? part
        : this.#mapLiteral(part, (parameters) => {
            const place = nameOf(parameters) as keyof typeof parameterTypes
            const { type } = parameters
            if (!(place in parameterTypes) || type === undefined || !ts.isTypeLiteralNode(type))
              return parameters
            const inner = this.#inner(type) as ts.TypeNode
            return withType(parameters, this.#declare(parametersTypeOf(id, place), inner))
          }),
    )
  }

  #declare(name: string, type: ts.TypeNode, documented?: ts.Node): ts.TypeReferenceNode {
    if (this.#taken.has(name))
      throw new GenerateError(
        `Two types of the client would be called ${name}: rename a schema or an operation.`,
      )
    this.#taken.add(name)
    const declaration = ts.isTypeLiteralNode(type)
      ? factory.createInterfaceDeclaration(exported, name, undefined, undefined, type.members)
      : factory.createTypeAliasDeclaration(exported, name, undefined, type)
    if (documented !== undefined) copyComments(documented, declaration)
    this.declarations.push(declaration)
    return reference(name)
  }

  /** References by name, and descriptions for the properties that have none. */
  #inner(node: ts.Node): ts.Node {
    const component = componentIn(node)
    if (component !== null) return reference(typeNameOf(component))
    const visited = ts.visitEachChild(node, (child) => this.#inner(child), undefined)
    if (!ts.isPropertySignature(visited)) return visited
    if (visited !== node) copyComments(node, visited)
    if (ts.getSyntheticLeadingComments(visited) === undefined)
      this.#describe(node as ts.PropertySignature, visited)
    return visited
  }

  #describe(original: ts.PropertySignature, visited: ts.PropertySignature): void {
    const types = original.type === undefined ? [] : [original.type, ...partsOf(original.type)]
    const component = types.map(componentIn).find((name) => name !== null)
    const description = component === undefined ? undefined : this.#schemas[component!]?.description
    if (typeof description === 'string')
      addComment(visited, `* ${description.trim().replaceAll('*/', '* /')} `)
  }
}

/** The members of a union or the items of a list. */
function partsOf(type: ts.TypeNode): readonly ts.TypeNode[] {
  if (ts.isUnionTypeNode(type)) return type.types
  return ts.isArrayTypeNode(type) ? [type.elementType] : []
}

/** The component of `components["schemas"]["…"]`; null for other types. */
function componentIn(node: ts.Node): string | null {
  if (!ts.isIndexedAccessTypeNode(node) || !ts.isIndexedAccessTypeNode(node.objectType)) return null
  const { objectType, indexType } = node.objectType
  if (!ts.isTypeReferenceNode(objectType) || !ts.isIdentifier(objectType.typeName)) return null
  if (objectType.typeName.text !== 'components' || textOf(indexType) !== 'schemas') return null
  return textOf(node.indexType)
}

function textOf(type: ts.TypeNode): string | null {
  return ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal) ? type.literal.text : null
}

function nameOf(member: ts.PropertySignature): string {
  return ts.isIdentifier(member.name) || ts.isStringLiteral(member.name) || ts.isNumericLiteral(member.name)
    ? member.name.text
    : ''
}

function reference(name: string): ts.TypeReferenceNode {
  return factory.createTypeReferenceNode(name)
}

function withType(member: ts.PropertySignature, type: ts.TypeNode): ts.PropertySignature {
  const changed = factory.createPropertySignature(member.modifiers, member.name, member.questionToken, type)
  copyComments(member, changed)
  return changed
}

function copyComments(from: ts.Node, to: ts.Node): void {
  ts.setSyntheticLeadingComments(to, ts.getSyntheticLeadingComments(from))
}

function addComment(node: ts.Node, text: string): void {
  ts.addSyntheticLeadingComment(node, ts.SyntaxKind.MultiLineCommentTrivia, text, true)
}
