// The rules of this project's spec beyond OpenAPI's own, as a plugin of the linter, which knows every place by file,
// line and column. Each rule is one way for an operation to be silently weaker than its declaration.
import { withExtensions } from './extensions.ts'
import { documentRules } from './rules/document.ts'
import { eventRules } from './rules/events.ts'
import { exampleRules } from './rules/examples.ts'
import { extensionRules } from './rules/extensions.ts'
import { lifetimeRules } from './rules/lifetime.ts'
import { operationRules } from './rules/operations.ts'
import { schemaRules } from './rules/schemas.ts'
import { valueRules } from './rules/values.ts'

const rules = {
  ...documentRules,
  ...operationRules,
  ...schemaRules,
  ...eventRules,
  ...exampleRules,
  ...lifetimeRules,
  ...extensionRules,
  ...valueRules,
}

export const ruleNames = Object.keys(rules)
export const platformRules = {
  id: 'platform',
  rules: { oas3: rules },
  typeExtension: { oas3: withExtensions },
}
