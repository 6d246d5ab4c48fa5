"""Historical order books of prediction markets: exact, with declared gaps, as rows or as DataFrames."""

from priorbook._columns import Decimals, Shape
from priorbook._query import DecimalInput, TimeInput
from priorbook._retry import RetryEvent, RetryPolicy
from priorbook._walk import Answer, AsyncListAnswer, AsyncWalk, ListAnswer, Page, Walk
from priorbook.backtesting import Backtest, backtest
from priorbook.client import AsyncClient, AsyncFrame, AsyncMarketClient, Client, Frame, MarketClient
from priorbook.errors import (
    CLIENT_ERRORS,
    ApiError,
    AuthenticationError,
    BacktestError,
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
    StrategyError,
    StreamError,
)
from priorbook.files import read_arrow, read_parquet
from priorbook.live import LiveOptions
from priorbook.order_book import Level, OrderBook
from priorbook.replay import Event, replay
from priorbook.report import Report
from priorbook.strategy import BookView, Context, Strategy
from priorbook.tape import Tape, read_tape

__version__ = "0.1.0"

__all__ = [
    "CLIENT_ERRORS",
    "Answer",
    "ApiError",
    "AsyncClient",
    "AsyncFrame",
    "AsyncListAnswer",
    "AsyncMarketClient",
    "AsyncWalk",
    "AuthenticationError",
    "Backtest",
    "BacktestError",
    "BadRequestError",
    "BookView",
    "Client",
    "ClientError",
    "Context",
    "CorruptChunkError",
    "DecimalInput",
    "Decimals",
    "Event",
    "Frame",
    "IncompleteFileError",
    "IncompleteWalkError",
    "Level",
    "ListAnswer",
    "LiveOptions",
    "MarketClient",
    "NetworkError",
    "NotFoundError",
    "OrderBook",
    "Page",
    "PlanError",
    "PriorbookError",
    "RateLimitError",
    "Report",
    "RetryEvent",
    "RetryPolicy",
    "ServerError",
    "Shape",
    "Strategy",
    "StrategyError",
    "StreamError",
    "Tape",
    "TimeInput",
    "Walk",
    "backtest",
    "read_arrow",
    "read_parquet",
    "read_tape",
    "replay",
]
