import { PriorbookError } from '@priorbook/sdk/domain'
import type { LakeManifest } from '../lake-manifest.ts'

type Column = LakeManifest['columns'][number]

/** The columns of a table, by ids that never change their meaning. */
export type TableSchema = {
  readonly type: 'struct'
  readonly 'schema-id': number
  readonly fields: readonly TableField[]
}

/** One column. */
type TableField = {
  readonly id: number
  readonly name: string
  readonly required: boolean
  readonly type: string | ListType
}

type ListType = {
  readonly type: 'list'
  readonly 'element-id': number
  readonly element: string
  readonly 'element-required': boolean
}

/** A schema, and the highest id that any schema of the table has used. */
export type NumberedSchema = { readonly schema: TableSchema; readonly lastId: number }

/**
 * The schema of a table over the files of these manifests: all columns, in the order of the first manifest. A column keeps
 * the id that it has in the schema before. It can be null where it can be null in a file, or where a file does not have it.
 */
export function toTableSchema(
  manifests: readonly Pick<LakeManifest, 'columns'>[],
  before: NumberedSchema | undefined,
): NumberedSchema {
  if (manifests.length === 0 && before !== undefined) return before
  const known = new Map(before?.schema.fields.map((field) => [field.name, field]))
  let lastId = before?.lastId ?? 0
  const columns = joinColumns(manifests)
  // As in tables of others, elements of lists have ids after all columns.
  const ids = columns.map(({ name }) => known.get(name)?.id ?? ++lastId)
  const fields = columns.map(({ name, type, is_nullable: isNullable }, index): TableField => {
    const old = known.get(name)
    const isRequired = !isNullable && (before === undefined || old?.required === true)
    const field = { id: ids[index]!, name, required: isRequired }
    const elementId = (): number =>
      typeof old?.type === 'object' ? old.type['element-id'] : ++lastId
    const now = toFieldType(type, elementId)
    if (old !== undefined && JSON.stringify(old.type) !== JSON.stringify(now)) {
      refuseType(name, JSON.stringify(old.type), JSON.stringify(now))
    }
    return { ...field, type: now }
  })
  const isSame = JSON.stringify(fields) === JSON.stringify(before?.schema.fields)
  if (isSame) return before!
  const number = before === undefined ? 0 : before.schema['schema-id'] + 1
  return { schema: { type: 'struct', 'schema-id': number, fields }, lastId }
}

/** Which column of a file has which id: the files themselves have names only. */
export function toNameMapping({ fields }: TableSchema): string {
  return JSON.stringify(
    fields.map(({ id, name, type }) => ({
      'field-id': id,
      names: [name],
      ...(typeof type === 'string'
        ? {}
        : { fields: [{ 'field-id': type['element-id'], names: ['element'] }] }),
    })),
  )
}

function joinColumns(manifests: readonly Pick<LakeManifest, 'columns'>[]): readonly Column[] {
  const joined = new Map<string, Column & { readonly files: number }>()
  for (const { columns } of manifests) {
    for (const { name, type, is_nullable: isNullable } of columns) {
      const known = joined.get(name)
      if (known !== undefined && known.type !== type) refuseType(name, type, known.type)
      const is_nullable = isNullable || known?.is_nullable === true
      joined.set(name, { name, type, is_nullable, files: (known?.files ?? 0) + 1 })
    }
  }
  return Array.from(joined.values(), ({ files, ...column }) =>
    files === manifests.length ? column : { ...column, is_nullable: true },
  )
}

function refuseType(name: string, before: string, now: string): never {
  throw new PriorbookError(
    'unsupported_format',
    `the column ${name} of the lake was ${before} and is ${now}, which no table can have both: write a new lake`,
  )
}

/** A type of the lake's manifests as Iceberg writes it. */
function toFieldType(type: string, elementId: () => number): TableField['type'] {
  const [, element] = /^list<(.+)>$/.exec(type) ?? []
  if (element === undefined) return toPrimitive(type)
  return {
    type: 'list',
    'element-id': elementId(),
    element: toPrimitive(element),
    'element-required': true,
  }
}

function toPrimitive(type: string): string {
  const known = PRIMITIVES[type] ?? (type.startsWith('decimal(') ? type : undefined)
  if (known !== undefined) return known
  throw new PriorbookError('unsupported_format', `no column of an Iceberg table is ${type}`)
}

const PRIMITIVES: Readonly<Record<string, string>> = {
  text: 'string',
  int32: 'int',
  int64: 'long',
  'timestamp[us, UTC]': 'timestamptz',
}
