// Sub-resources that PUT makes and GET reads at the same path, such as the attachment of a note: what is read
// is what was sent, and after a deletion nothing is read.
import { isJson, responseFor, type Json, type Operation } from '@platform-api/openapi/document.ts'
import { essenceOf, includesType, isRange } from '@platform-api/openapi/media-types.ts'
import { isOfMissing } from './deletions.ts'
import { matchesSent } from './equality.ts'
import { expectationFor, part } from './expectations.ts'
import { isAttachment } from './forms.ts'
import { canEncode, pathParameters, requestParts, sample } from './requests.ts'
import { mayAnswer, maySucceed, type Run } from './run-context.ts'
import type { Answer } from './sender.ts'
import { textFile } from './values.ts'

export interface SubResource {
  write: Operation
  read: Operation
  remove: Operation | null
}

export function subResourcesOf({ operations, selected }: Run): SubResource[] {
  const at = (path: string, wanted: string): Operation | undefined =>
    operations.find((each) => each.path === path && each.method === wanted)
  return operations
    .filter(({ method, path, body }) => method === 'PUT' && /\}\/[^{}]+$/.test(path) && body !== null)
    .flatMap((write) => {
      const read = at(write.path, 'GET')
      return read === undefined ? [] : [{ write, read, remove: at(write.path, 'DELETE') ?? null }]
    })
    .filter(({ write, read, remove }) =>
      selected.some((operation) => [write, read, remove].includes(operation)),
    )
}

export async function checkSubResource(run: Run, { write, read, remove }: SubResource): Promise<void> {
  if (!maySucceed(run, write)) return
  const path = await pathParameters(run, write)
  if (path === null) return
  let isMade = false
  for (const { type, schema } of write.body!.media.filter(
    (media) => canEncode(media.type, media.schema) && !isRange(media.type),
  )) {
    const sent = { ...sample(run, requestParts(run, write, { type })), path }
    // An empty file would come back whole from a server that loses its end.
    if (isAttachment(sent.body) && sent.body.bytes.length === 0) sent.body = textFile
    const written = await run.call(part, write, sent)
    if (written.status >= 300) continue
    isMade = true
    const answer = await run.call(part, read, { path })
    const expect = expectationFor(run, read)
    if (!expect(answer.status === 200, 'put-read', '200 for what PUT made', answer)) continue
    if (schema.format === 'binary') checkBytes(run, read, type, sent.body, answer)
    else if (isJson(type)) checkProperties(run, read, sent.body, answer)
  }
  if (!isMade || remove === null) return
  const removed = await run.call(part, remove, { path })
  if (removed.status >= 300) return
  const after = await run.call(part, read, { path })
  expectationFor(run, remove)(
    isOfMissing(read, after.status) || isJson(essenceOf(after.headers.get('content-type') ?? '')),
    'deleted-read',
    '404 or 410 for what was deleted',
    after,
  )
}

/** The bytes come back, with their media type. */
function checkBytes(run: Run, read: Operation, type: string, sent: Json, answer: Answer): void {
  const declared = responseFor(read, 200)?.media ?? []
  if (!isAttachment(sent) || !declared.some((each) => includesType(each.type, type))) return
  const given = essenceOf(answer.headers.get('content-type') ?? '')
  expectationFor(run, read)(
    given === essenceOf(type) && answer.text === sent.bytes.toString(),
    'put-read',
    `the ${sent.bytes.length} bytes of ${type} that were sent`,
    answer,
    `${given}: ${answer.text.slice(0, 100)}`,
  )
}

function checkProperties(run: Run, read: Operation, sent: Json, answer: Answer): void {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return
  for (const [name, value] of Object.entries<Json>(sent))
    if (name in (answer.body ?? {}) && mayAnswer(run, read, answer.body, name, value))
      expectationFor(run, read)(
        matchesSent(value, answer.body[name]),
        'put-read',
        `${name} to have the value that was sent: ${JSON.stringify(value)}`,
        answer,
        JSON.stringify(answer.body[name]),
      )
}
