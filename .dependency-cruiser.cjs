/** The layers of docs/architecture.md, checked: imports go down only. */
const layers = ['base', 'ports', 'protocol', 'log', 'expr', 'relation', 'conflict', 'transaction', 'commands', 'cdc', 'table']
const outside = ['adapters', 'cli', 'testing']
const npm = ['npm', 'npm-dev', 'npm-peer', 'npm-optional', 'npm-no-pkg', 'npm-unknown', 'unknown', 'undetermined']

const upward = layers.map((layer, rank) => ({
  name: `upward-from-${layer}`,
  comment: `${layer} imports only itself and the layers below`,
  severity: 'error',
  from: { path: `^src/${layer}/`, pathNot: '\\.test\\.ts$' },
  to: { path: `^src/(${[...layers.slice(rank + 1), ...outside].join('|')})/` },
}))

/** Packages that one folder may use, and no other. */
const packages = [
  ['@duckdb/', '^src/(adapters/duckdb|cli/demo)/'],
  ['node_modules/hyparquet', '^src/adapters/parquet/'],
  ['node_modules/roaring-wasm', '^src/protocol/roaring\\.ts$'],
  ['node_modules/commander', '^src/cli/'],
  ['node_modules/log-update', '^src/cli/'],
  ['node_modules/yaml', '^src/cli/'],
  ['node_modules/@platformatic/kafka', '^src/adapters/sources/kafka/'],
  ['node_modules/(pg|pg-logical-replication)/', '^src/adapters/sources/postgres/'],
].map(([path, only]) => ({
  name: `only-in-its-folder:${path}`,
  severity: 'error',
  from: { path: '^src/', pathNot: [only, '\\.test\\.ts$'] },
  to: { path },
}))

module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: { pathNot: '\\.test\\.ts$' }, to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } } },
    ...upward,
    ...packages,
    {
      name: 'core-knows-no-platform',
      comment: 'effects reach the core through ports; roaring-wasm in protocol is the one exception',
      severity: 'error',
      from: { path: `^src/(${layers.join('|')})/`, pathNot: '\\.test\\.ts$' },
      to: { dependencyTypes: ['core', ...npm], pathNot: 'node_modules/roaring-wasm' },
    },
    {
      name: 'log-knows-no-expressions',
      severity: 'error',
      from: { path: '^src/log/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/expr/' },
    },
    {
      name: 'adapters-know-contracts',
      severity: 'error',
      from: { path: '^src/adapters/', pathNot: '\\.test\\.ts$' },
      to: { path: '^src/', pathNot: '^src/(base|ports|protocol|relation|expr|adapters)/' },
    },
    { name: 'tests-stay-out', severity: 'error', from: { path: '^src/', pathNot: '\\.test\\.ts$' }, to: { path: '(\\.test\\.ts$|^test/)' } },
    { name: 'no-barrel-inside', severity: 'error', from: { path: '^src/(?!cli/).+/' }, to: { path: '^src/index\\.ts$' } },
  ],
  options: { tsPreCompilationDeps: true, tsConfig: { fileName: 'tsconfig.json' }, doNotFollow: { path: 'node_modules' } },
}
