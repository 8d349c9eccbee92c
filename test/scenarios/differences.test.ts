/** docs/proof.md lists every id whose verdict is not the published one. The verdicts themselves are asserted by running. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { allScenarios } from './all-scenarios.ts'
import type { Scenario } from './scenario.ts'

/** One line of the table in docs/proof.md. */
function lineOf({ id, title, abort, differs }: Scenario): string {
  const ours = 'commits' in abort ? `commits (${[...new Set(abort.commits)].join(', ')})` : `aborts (${abort.aborts})`
  const theirs = 'commits' in abort ? 'aborts' : 'commits'
  return `| ${id} | ${title} | ${theirs} | ${ours} | ${differs ?? ''} |`
}

test('docs/proof.md lists exactly the scenarios that differ', () => {
  const text = readFileSync(new URL('../../docs/proof.md', import.meta.url), 'utf8')
  const listed = text.split('\n').filter((line) => /^\| (C1|C1V|1b|MK|C2|HoleA|FR)[- ]/.test(line))
  expect(listed).toEqual(allScenarios.filter(({ differs }) => differs !== undefined).map(lineOf))
})

test('ids are unique', () => {
  expect(new Set(allScenarios.map(({ id }) => id)).size).toBe(allScenarios.length)
})
