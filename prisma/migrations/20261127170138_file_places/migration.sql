-- CreateEnum
CREATE TYPE "FileConflictPolicy" AS ENUM ('duplicate', 'fail', 'rename', 'replace');

-- AlterTable
ALTER TABLE "uploads" ADD COLUMN     "on_conflict" "FileConflictPolicy" NOT NULL DEFAULT 'duplicate';

-- The hash keeps an entry short: a path has up to 1024 characters.
CREATE INDEX files_folder_idx ON files (workspace_id, hashtextextended(normalize(path, NFC), 0), id);
CREATE INDEX files_place_idx ON files (workspace_id, hashtextextended(normalize(name, NFC), 0),
  hashtextextended(normalize(path, NFC), 0));
