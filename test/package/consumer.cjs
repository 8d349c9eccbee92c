const { DeltaTable, BraidlakeError } = require('braidlake')
const { run } = require('./statements.cjs')

void run({ DeltaTable, BraidlakeError })
