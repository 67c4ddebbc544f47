// The types of the client package, which a server writes without the TypeScript compiler, beside those that
// openapi-typescript writes from the contract.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import openapiTS, { astToString } from 'openapi-typescript'
import t from 'tap'
import ts from 'typescript'
import { readContract } from '../../scripts/generate/contract.ts'
import { takeResources } from '../../scripts/generate/crud/resources.ts'
import { addDeprecations } from '../../scripts/generate/deprecation.ts'
import { addErrorCodes } from '../../scripts/generate/errors.ts'
import { addEvents, eventUnions } from '../../scripts/generate/events.ts'
import { withNamedTypes } from '../../scripts/generate/named-types.ts'
import { withPatchOperations } from '../../scripts/generate/patch-operations.ts'
import { publishedDocument } from '../../scripts/generate/publish.ts'
import { removeDatabaseNotes } from '../../scripts/generate/schema-db-check.ts'
import { withWholeAlternatives } from '../../packages/openapi/alternatives.ts'
import { discriminatedIn } from '../../packages/openapi/discriminators.ts'
import { clientTypes } from '../../services/docs/client-types.ts'

const root = join(import.meta.dirname, '../..')

/** The contract as openapi-typescript reads it, where a value of a later version has a mark. */
async function markedDocument(): Promise<{ document: any; unions: Map<string, string[]> }> {
  const open = await readContract(join(root, 'spec/openapi.yaml'))
  takeResources(open)
  removeDatabaseNotes(open)
  const unions = eventUnions(addEvents(open))
  addErrorCodes(open)
  addDeprecations(open)
  const whole = withWholeAlternatives(publishedDocument(open), 'never')
  const document = JSON.parse(JSON.stringify({ ...whole, paths: withPatchOperations(whole.paths) }))
  for (const item of Object.values<any>(document.paths)) if (item.patch?.['x-same-as']) delete item.patch
  for (const { post } of Object.values<any>(document.webhooks)) delete post.operationId
  for (const schema of discriminatedIn(document)) delete schema.discriminator
  mark(document)
  return { document, unions }
}

/** Marks the type beside each enum that a later version may extend. */
function mark(node: any): void {
  if (typeof node !== 'object' || node === null) return
  for (const [known, later] of [node.anyOf ?? []])
    if (
      /^type(,format)?$/.test(Object.keys(later ?? {}).join()) &&
      later.type !== 'null' &&
      (known.enum || known.$ref)
    )
      later['x-later'] = true
  for (const value of Object.values(node)) mark(value)
}

t.test('are those of openapi-typescript, line by line', async (t) => {
  const { document, unions } = await markedDocument()
  const { factory, SyntaxKind } = ts
  const nodes = await openapiTS(structuredClone(document), {
    defaultNonNullable: false,
    transform: (schema: any) =>
      schema['x-later'] &&
      factory.createIntersectionTypeNode([
        factory.createKeywordTypeNode(
          schema.type === 'string' ? SyntaxKind.StringKeyword : SyntaxKind.NumberKeyword,
        ),
        factory.createTypeLiteralNode([]),
      ]),
  })
  const expected = astToString(withNamedTypes(nodes, document, unions)).replaceAll('* @description ', '* ')
  const written = clientTypes(JSON.parse(readFileSync(join(root, 'generated/openapi.json'), 'utf8')))
  // The order of the properties that an alternative excludes is not the same.
  const lines = (text: string): string[] =>
    text
      .split('\n')
      .filter((line) => !/^(?:\/\/.*|\/\*.*)?$/.test(line))
      .sort()
  t.strictSame(lines(written), lines(expected))
})
