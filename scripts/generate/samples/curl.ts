// Samples for curl. They read the base URL from PLATFORM_BASE_URL and the key from PLATFORM_API_KEY.
import { fieldsOf, type Call } from './call.ts'

export function curl(call: Call): string {
  const { operation, address, sends, receives, redirects, headers, body, file } = call
  const method = operation.method.toUpperCase()
  const implied = sends === 'nothing' ? 'GET' : 'POST'
  const options = [
    ...(method === implied ? [] : [`-X ${method}`]),
    ...(receives === 'events' ? ['-N'] : []),
    ...(receives === 'bytes' ? [`${redirects ? '-L ' : ''}-o ${file}`] : []),
    ...(operation.scopes === null ? [] : ['-H "Authorization: Bearer $PLATFORM_API_KEY"']),
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
  ]
  if (sends === 'json') options.push("-H 'Content-Type: application/json'", `-d ${quoted(json(body!.value))}`)
  if (sends === 'form')
    options.push(
      ...fieldsOf(call).map(([name, value]) => `-F ${quoted(`${name}=${value}`)}`),
      `-F ${operation.body!.form!.file}=@${file}`,
    )
  if (sends === 'fields')
    options.push(
      ...Object.entries<string>(body!.value).map(
        ([name, value]) => `--data-urlencode ${quoted(`${name}=${value}`)}`,
      ),
    )
  if (sends === 'bytes') options.push(`-H 'Content-Type: ${body!.type}'`, `--data-binary @${file}`)
  return `curl ${[`"$PLATFORM_BASE_URL${address}"`, ...options].join(' \\\n  ')}`
}

/** On one line, unless it is long. */
function json(value: unknown): string {
  const line = JSON.stringify(value)
  return line.length <= 80 ? line : JSON.stringify(value, null, 2)
}

/** Quoted for the shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
