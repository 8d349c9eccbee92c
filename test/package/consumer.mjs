import * as braidlake from 'braidlake'
import { run } from './statements.cjs'

await run(braidlake)
