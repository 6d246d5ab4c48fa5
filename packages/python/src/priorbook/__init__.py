"""Historical order books of prediction markets: exact, with declared gaps, as rows or as DataFrames."""

from priorbook._columns import Decimals, Shape
from priorbook._query import DecimalInput, TimeInput
from priorbook._retry import RetryEvent, RetryPolicy
from priorbook._walk import Answer, AsyncWalk, Page, Walk
from priorbook.client import AsyncClient, AsyncFrame, AsyncMarketClient, Client, Frame, MarketClient
from priorbook.errors import (
    CLIENT_ERRORS,
    ApiError,
    AuthenticationError,
    BadRequestError,
    ClientError,
    CorruptChunkError,
    IncompleteFileError,
    IncompleteWalkError,
    NetworkError,
    NotFoundError,
    PlanError,
    PriorbookError,
    RateLimitError,
    ServerError,
    StreamError,
)
from priorbook.files import read_arrow, read_parquet
from priorbook.live import LiveOptions
from priorbook.order_book import Level, OrderBook
from priorbook.replay import Event, replay
from priorbook.tape import Tape, read_tape

__version__ = "0.1.0"

__all__ = [
    "CLIENT_ERRORS",
    "Answer",
    "ApiError",
    "AsyncClient",
    "AsyncFrame",
    "AsyncMarketClient",
    "AsyncWalk",
    "AuthenticationError",
    "BadRequestError",
    "Client",
    "ClientError",
    "CorruptChunkError",
    "DecimalInput",
    "Decimals",
    "Event",
    "Frame",
    "IncompleteFileError",
    "IncompleteWalkError",
    "Level",
    "LiveOptions",
    "MarketClient",
    "NetworkError",
    "NotFoundError",
    "OrderBook",
    "Page",
    "PlanError",
    "PriorbookError",
    "RateLimitError",
    "RetryEvent",
    "RetryPolicy",
    "ServerError",
    "Shape",
    "StreamError",
    "Tape",
    "TimeInput",
    "Walk",
    "read_arrow",
    "read_parquet",
    "read_tape",
    "replay",
]
