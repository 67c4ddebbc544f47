/** The regular expression for the paths of a template such as `/projects/{id}`. Each parameter is a group. */
export function patternOf(template: string): RegExp {
  const parts = template.split(/\{[^}]+\}/).map((part) => {
    const encoded = encodeURI(part)
    return encoded === part ? escaped(part) : `(?:${escaped(part)}|${escaped(encoded)})`
  })
  return new RegExp(`^${parts.join('([^/]+)')}$`)
}

const escaped = (text: string): string => text.replace(/[.*+?^$()|[\]{}\\]/g, '\\$&')
