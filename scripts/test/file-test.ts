// The module that `import t from 'tap'` loads in a test file in a worker: once per file, each time with
// another query.
import { fileTest } from './current-file.ts'

export default fileTest()
