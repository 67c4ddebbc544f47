// A form for the body of a request. The fields come from the contract; the server's problems stand at them.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import data from '../../generated/console/forms.json' with { type: 'json' }
import type { ConsoleField, ConsoleOperation, PackedForms, PackedHelp } from './model-types.ts'
import { model, requestOf, unpacker } from './model.ts'
import { Reference, References } from './reference.tsx'
import { call, failureOf, type Failure, type Input } from './session.ts'
import { Code, Dialog, Problem } from './ui.tsx'
import { money, useCopy } from './value.tsx'

export interface FormProps {
  title: string
  operation: string
  /** The values of the path's parameters. */
  values: Record<string, string>
  /** The resource that an update changes: only changed fields are sent. Else null. */
  item: any
  /** What the fields of a creation have at first. */
  defaults?: Record<string, unknown>
  /** For If-Match: a concurrent change is not overwritten. */
  etag?: string | null
  onClose: () => void
  onDone: (answer: any) => void
}

const forms = data as unknown as PackedForms
let help: PackedHelp = { fields: [], forms: [] }
let { unpackSteps } = unpacker(forms.fields)

/** Forms have no help where its file is not reached. */
export const ready = fetch(new URL('help.json', import.meta.url))
  .then(async (response) => {
    help = await response.json()
    unpackSteps = unpacker(forms.fields, help.fields).unpackSteps
  })
  .catch(() => {})

function formOf(operation: string): Pick<ConsoleOperation, 'summary' | 'fields' | 'query' | 'choice'> {
  const { fields, query = [], choice = false } = forms.forms[operation]
  return {
    summary: help.forms[Object.keys(forms.forms).indexOf(operation)] ?? '',
    fields: fields === undefined ? null : unpackSteps(fields),
    query: unpackSteps(query),
    choice,
  }
}

export function FormDialog({
  title,
  operation,
  values,
  item,
  defaults,
  etag = null,
  onClose,
  onDone,
}: FormProps) {
  const { secrets = [] } = model.operations[operation] ?? {}
  const { summary, fields, query, choice } = useMemo(() => formOf(operation), [operation])
  const { method } = requestOf(operation)
  const [failure, setFailure] = useState<Failure | null>(null)
  const [busy, setBusy] = useState(false)
  const [answer, setAnswer] = useState<any>(null)
  const [sent, setSent] = useState<Input | null>(null)
  const form = useRef<HTMLFormElement>(null)
  /** The values that the form of an update showed at first: only changed values are sent. */
  const shownAtFirst = useRef<FormData | null>(null)
  useLayoutEffect(() => {
    if (item !== null) shownAtFirst.current = new FormData(form.current!)
  }, [])
  // The first problem, which may be above what is visible.
  useEffect(() => {
    if (failure === null) return
    const first = form.current?.querySelector<HTMLElement>('[aria-invalid=true], [role=alert]')
    first?.scrollIntoView({ block: 'center' })
    first?.focus()
  }, [failure])
  const shown = fields ?? []
  const known = new Set(names([...shown, ...query]))
  async function submit(form: HTMLFormElement): Promise<void> {
    const read = readForm(form, { fields: shown, query, choice }, shownAtFirst.current)
    if ('problem' in read) return setFailure(read.problem)
    const headers: Record<string, string> = item !== null && etag !== null ? { 'If-Match': etag } : {}
    const input: Input = {
      path: values,
      query: read.query,
      headers,
      ...(fields !== null && { body: read.body }),
    }
    setSent(input)
    setBusy(true)
    try {
      const { data } = await call(operation, input)
      if (secrets.length > 0) return setAnswer(data)
      onClose()
      onDone(data)
    } catch (error) {
      setFailure(failureOf(error))
    } finally {
      setBusy(false)
    }
  }
  if (answer !== null)
    return (
      <Secrets
        found={secrets.flatMap((name) => textsIn(answer[name]))}
        onClose={() => {
          onClose()
          onDone(answer)
        }}
      />
    )
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void submit(event.currentTarget)
        }}
      >
        <p class="soft">{summary}</p>
        {choice && <Whole />}
        <Inputs fields={shown} item={item ?? defaults} failure={failure} />
        <Inputs fields={query} item={null} failure={failure} />
        {failure !== null && <Problem failure={{ ...failure, problems: [] }} />}
        {failure?.problems
          .filter(({ field }) => !known.has(field.replaceAll(/\[\d+\]/g, '')))
          .map(({ message }) => (
            <p class="error">{message}</p>
          ))}
        <footer>
          <button type="submit" class={method === 'DELETE' ? 'remove' : 'main'} disabled={busy}>
            {busy ? 'Sending…' : title}
          </button>
        </footer>
        {sent !== null && <Code operation={operation} input={sent} />}
      </form>
    </Dialog>
  )
}

export interface CreateProps {
  operation: string
  values: Record<string, string>
  defaults?: Record<string, unknown>
  onClose: () => void
  onCreated: (created: any) => void
}

export function CreateDialog(props: CreateProps) {
  return <FormDialog title="Create" item={null} {...props} onDone={props.onCreated} />
}

/** What the server shows only once. */
function Secrets({ found, onClose }: { found: string[]; onClose: () => void }) {
  return (
    <Dialog title="Copy this now" onClose={onClose}>
      <p>It is shown only once.</p>
      {found.map((value) => (
        <Secret key={value} value={value} />
      ))}
    </Dialog>
  )
}

function Secret({ value }: { value: string }) {
  const { said, onClick } = useCopy(value)
  return (
    <p>
      <code class="secret">{value}</code>{' '}
      <button type="button" onClick={onClick}>
        {said ?? 'Copy'}
      </button>
    </p>
  )
}

/** A secret, or the secret in a resource that was made with the other one. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  const { key } = Object(value)
  return typeof key === 'string' ? [key] : []
}

/** The names of fields, of those in lists without the index. */
function names(fields: ConsoleField[], prefix = ''): string[] {
  return fields.flatMap((field) => [
    prefix + field.name,
    ...names(field.fields ?? [], `${prefix}${field.name}.`),
  ])
}

interface InputsProps {
  fields: ConsoleField[]
  item: any
  failure: Failure | null
  prefix?: string
}

function Inputs({ fields, item, failure, prefix = '' }: InputsProps) {
  return (
    <>
      {fields.map((field) => {
        const name = prefix + field.name
        const value = item?.[field.name]
        if (field.kind === 'object')
          return (
            <fieldset key={name}>
              <legend>{field.title}</legend>
              <Inputs fields={field.fields!} item={value} failure={failure} prefix={`${name}.`} />
            </fieldset>
          )
        if (field.kind === 'objects')
          return <Several key={name} {...{ field, name, items: value, failure }} />
        const problem = failure?.problems.find(({ field }) => field === name || inList(field, name))?.message
        if (field.kind === 'choices') return <Choices key={name} {...{ field, name, value, problem }} />
        return <Labelled key={name} {...{ field, name, value, item, problem }} />
      })}
    </>
  )
}

/** Whether a problem is at an item of a list of plain values: `scopes[0]`. */
const inList = (field: string, name: string): boolean => field.startsWith(`${name}[`) && field.endsWith(']')

/** A form for each object of a list. */
function Several(props: {
  field: ConsoleField
  name: string
  items: any[] | undefined
  failure: Failure | null
}) {
  const { field, name, items, failure } = props
  const [keys, setKeys] = useState(() => (items ?? (field.required ? [null] : [])).map((_, i) => i))
  return (
    <fieldset>
      <legend>{field.title}</legend>
      {keys.map((key, i) => (
        <fieldset key={key}>
          <legend>{i + 1}</legend>
          <Inputs fields={field.fields!} item={items?.[key]} failure={failure} prefix={`${name}[${i}].`} />
          <button type="button" onClick={() => setKeys(keys.filter((each) => each !== key))}>
            Remove
          </button>
        </fieldset>
      ))}
      <button type="button" onClick={() => setKeys([...keys, Math.max(-1, ...keys) + 1])}>
        Add
      </button>
    </fieldset>
  )
}

/** Check boxes, in groups by what stands before the colon or dot: `projects:read`, `file.created`. */
function Choices({ field, name, value, problem }: FieldProps) {
  const groups = Map.groupBy(field.values!.map(String), (each) => /^(\w+)[.:]/.exec(each)?.[1] ?? '')
  const id = `field-${name}`
  return (
    <fieldset aria-describedby={problem === undefined ? undefined : `${id}-error`}>
      <legend>
        {field.title} {!field.required && <small class="soft">optional</small>}
      </legend>
      {problem !== undefined && (
        <p class="error" id={`${id}-error`}>
          {problem}
        </p>
      )}
      {field.help !== undefined && (
        <small class="soft">
          <Help text={field.help} />
        </small>
      )}
      <div class="choices">
        {[...groups].map(([group, options]) => (
          <div key={group}>
            {options.map((option) => (
              <label key={option}>
                <input type="checkbox" name={name} value={option} defaultChecked={value?.includes(option)} />
                {` ${option}`}
              </label>
            ))}
          </div>
        ))}
      </div>
    </fieldset>
  )
}

interface FieldProps {
  field: ConsoleField
  name: string
  value: any
  /** What the field belongs to. */
  item?: any
  problem: string | undefined
}

function Labelled({ field, name, value, item, problem }: FieldProps) {
  const id = `field-${name}`
  const described = [problem && `${id}-error`, field.help && `${id}-help`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={id}>
        {field.title} {!field.required && <small class="soft">optional</small>}
      </label>
      <Control {...{ field, name, value, item, id, described }} invalid={problem !== undefined} />
      {problem !== undefined && (
        <p class="error" id={`${id}-error`}>
          {problem}
        </p>
      )}
      {field.help !== undefined && (
        <small class="soft" id={`${id}-help`}>
          <Help text={field.help} />
        </small>
      )}
    </div>
  )
}

/** A description is Markdown: its code stays, and links are texts. */
function Help({ text }: { text: string }) {
  const parts = text.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1').split(/`([^`]+)`/)
  return <>{parts.map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}</>
}

interface AmountProps {
  shared: { id: string; name: string }
  value: any
  item: any
}

/** An amount in the smallest unit of its currency, and how it reads. */
function Amount({ shared, value, item }: AmountProps) {
  const [text, setText] = useState('')
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const input = field.current!
    const form = input.form!
    const show = (): void => {
      const sent = new FormData(form)
      const prefix = shared.name.slice(0, shared.name.lastIndexOf('.') + 1)
      const currency = sent.get(`${prefix}currency`) || sent.get('currency') || item?.currency
      const isKnown = /^[a-z]{3}$/i.test(currency) && input.value !== ''
      setText(isKnown ? money(Number(input.value), String(currency)) : '')
    }
    show()
    form.addEventListener('input', show)
    return () => form.removeEventListener('input', show)
  }, [])
  return (
    <>
      <input {...shared} ref={field} type="number" step="any" defaultValue={value ?? ''} />
      <output class="soft" for={shared.id}>
        {text}
      </output>
    </>
  )
}

type ControlProps = Omit<FieldProps, 'problem'> & { id: string; described: string; invalid: boolean }

function Control({ field, name, value, item, id, described, invalid }: ControlProps) {
  const shared = { id, name, 'aria-describedby': described || undefined, 'aria-invalid': invalid }
  switch (field.kind) {
    case 'boolean':
    case 'choice': {
      const options = field.kind === 'boolean' ? [true, false] : field.values!
      return (
        <select {...shared}>
          {(!field.required || value == null) && <option value="">–</option>}
          {options.map((option) => (
            <option value={String(option)} selected={value === option}>
              {field.kind === 'boolean'
                ? option === true
                  ? 'Yes'
                  : 'No'
                : String(option).replaceAll('_', ' ')}
            </option>
          ))}
        </select>
      )
    }
    case 'texts':
      if (field.prefix !== undefined)
        return <References {...{ id, name, value }} title={field.title} prefix={field.prefix} />
      return (
        <textarea {...shared} rows={3} placeholder="One per line" defaultValue={value?.join('\n') ?? ''} />
      )
    case 'json':
      return (
        <textarea
          {...shared}
          rows={3}
          class="mono"
          defaultValue={value === undefined ? '' : JSON.stringify(value)}
        />
      )
    case 'long':
      return <textarea {...shared} rows={4} defaultValue={value ?? ''} />
    case 'file':
      return <input {...shared} type="file" />
    case 'time':
      return <input {...shared} type="datetime-local" step="1" defaultValue={value ? localTime(value) : ''} />
    case 'money':
      return <Amount shared={shared} value={value} item={item} />
    case 'id':
      return <Reference {...shared} prefix={field.prefix} defaultValue={value ?? ''} />
    case 'number':
    case 'bytes':
      return <input {...shared} type="number" step="any" defaultValue={value ?? ''} />
    default:
      return <input {...shared} type="text" autoComplete="off" defaultValue={value ?? ''} />
  }
}

const whole = 'body'

function Whole() {
  return (
    <div class="field">
      <label for="field-body">Body</label>
      <textarea id="field-body" name={whole} rows={8} class="mono" placeholder="{ … }" />
      <small class="soft">JSON; the API reference shows the alternatives.</small>
    </div>
  )
}

const localTime = (value: string): string => {
  const date = new Date(value)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}

type Read = { body: unknown; query: Record<string, unknown> } | { problem: Failure }
type Shown = Pick<ConsoleOperation, 'query' | 'choice'> & { fields: ConsoleField[] }

function readForm(form: HTMLFormElement, { fields, query, choice }: Shown, before: FormData | null): Read {
  const data = new FormData(form)
  const problems: Failure['problems'] = []
  // The value of an incomplete date, or of a number like `1e`, is empty.
  for (const { name, validity, validationMessage } of form.elements as Iterable<HTMLInputElement>)
    if (validity.badInput) problems.push({ field: name, message: validationMessage })
  const parse = (name: string, text: string): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      problems.push({ field: name, message: 'This is not JSON.' })
      return undefined
    }
  }
  const body = choice ? parse(whole, String(data.get(whole))) : bodyOf(fields, data, before, parse, '')
  const sent = bodyOf(query, data, null, parse, '') as Record<string, unknown>
  if (problems.length === 0) return { body, query: sent }
  const message = 'Please check the marked fields.'
  return { problem: { message, code: null, constraint: null, requestId: null, problems } }
}

type Parse = (name: string, text: string) => unknown

/** Leaves out what was left empty, and of an update what has not changed. */
function bodyOf(
  fields: ConsoleField[],
  data: FormData,
  before: FormData | null,
  parse: Parse,
  prefix: string,
): object {
  const body: Record<string, unknown> = {}
  for (const field of fields) {
    const name = prefix + field.name
    if (field.kind === 'object') {
      const inner = bodyOf(field.fields!, data, before, parse, `${name}.`)
      if (Object.keys(inner).length > 0) body[field.name] = inner
      continue
    }
    const read = field.kind === 'objects' ? objectsOf : valueOf
    const value = read(field, name, data, parse)
    const isChanged =
      before === null || JSON.stringify(value) !== JSON.stringify(read(field, name, before, parse))
    if (value !== undefined && isChanged) body[field.name] = value
    else if (before !== null && isChanged && field.nullable) body[field.name] = null
    else if (before !== null && isChanged && isSeveral(field)) body[field.name] = []
  }
  return body
}

const isSeveral = ({ kind }: ConsoleField): boolean => ['texts', 'choices', 'objects'].includes(kind)

function objectsOf(field: ConsoleField, name: string, data: FormData, parse: Parse): object[] | undefined {
  const count = new Set(
    [...data.keys()]
      .filter((key) => key.startsWith(`${name}[`))
      .map((key) => parseInt(key.slice(name.length + 1))),
  ).size
  if (count === 0 && !field.required) return undefined
  return Array.from({ length: count }, (_, i) => bodyOf(field.fields!, data, null, parse, `${name}[${i}].`))
}

function valueOf(field: ConsoleField, name: string, data: FormData, parse: Parse): unknown {
  if (field.kind === 'choices') {
    const chosen = data.getAll(name)
    return chosen.length === 0 && !field.required ? undefined : chosen
  }
  const value = data.get(name)
  if (value instanceof File) return value.size === 0 && value.name === '' ? undefined : value
  if (value === null || value === '') return undefined
  switch (field.kind) {
    case 'number':
    case 'bytes':
    case 'money':
      return Number(value)
    case 'boolean':
      return value === 'true'
    case 'choice':
      return field.values!.find((each) => String(each) === value)
    case 'texts':
      return value
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '')
    case 'time':
      return new Date(value).toISOString()
    case 'json':
      return parse(name, value)
    default:
      return value
  }
}
