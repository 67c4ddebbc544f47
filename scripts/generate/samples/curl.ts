// An operation called from a shell. PLATFORM_URL is where the server is, PLATFORM_API_KEY a key.
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
  return `curl ${[`"$PLATFORM_URL${address}"`, ...options].join(' \\\n  ')}`
}

/** In one line, unless that is long. */
function json(value: unknown): string {
  const line = JSON.stringify(value)
  return line.length <= 80 ? line : JSON.stringify(value, null, 2)
}

/** As one word of the shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
