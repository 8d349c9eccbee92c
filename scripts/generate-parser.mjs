// Makes src/expr/parser.generated.ts from src/expr/grammar.peggy. With --check it only says, by its exit code, whether the file is current.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import peggy from 'peggy'

const grammarUrl = new URL('../src/expr/grammar.peggy', import.meta.url)
const outputUrl = new URL('../src/expr/parser.generated.ts', import.meta.url)

/** @returns {string} the text of the parser */
export function generateParser() {
  const source = peggy.generate(readFileSync(grammarUrl, 'utf8'), {
    output: 'source',
    format: 'es',
    allowedStartRules: ['ExpressionText', 'SelectText', 'AssignmentsText'],
    grammarSource: 'src/expr/grammar.peggy',
  })
  return `// @ts-nocheck\n// Made from grammar.peggy by scripts/generate-parser.mjs. Do not edit.\n${source}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = generateParser()
  if (!process.argv.includes('--check')) {
    writeFileSync(outputUrl, text)
  } else if (readFileSync(outputUrl, 'utf8') !== text) {
    console.error('src/expr/parser.generated.ts is out of date: run node scripts/generate-parser.mjs')
    process.exitCode = 1
  }
}
