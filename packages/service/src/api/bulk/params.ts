export {
  FILE_DATASETS as DATASETS,
  FILE_FORMATS as BULK_FORMATS,
  type FileDataset as Dataset,
  type FileFormat as BulkFormat,
} from '@priorbook/sdk/wire'
