// What `import t from 'tap'` gives to a test file in a worker. The worker loads this module once per file,
// with another query.
import { fileTest } from './current-file.ts'

export default fileTest()
