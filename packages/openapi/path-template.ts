/** The regular expression for the paths of a template such as `/projects/{id}`. Each parameter is a group. */
export function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '([^/]+)')}$`)
}
