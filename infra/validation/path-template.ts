/** What a whole path is held against that is to be one of a template such as `/projects/{id}`; each parameter is a group. */
export function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '([^/]+)')}$`)
}
